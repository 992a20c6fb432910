"""The type of numpy's arrays in annotations."""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

Float32Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Float64Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Int16Array: TypeAlias = np.ndarray[Any, np.dtype[np.int16]]
Int32Array: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
Int64Array: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
