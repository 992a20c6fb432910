"""Functions of the C library, which LiteRT calls too. Some libraries are off by a digit."""

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from qnn_ops.arrays import Float32Array, Float64Array

# The loader's name for the C library. On other systems the library is part of this program.
_LIBRARY = {"win32": "ucrtbase"}


def by_c(name: str, otherwise: Callable[[Float64Array], Any], x: Float32Array) -> Float32Array:
    """Apply a function of the C library, as LiteRT does; without one, apply a function in float64.

    The two round differently for an entry of a few tables.
    """
    function = _c_function(name)
    if function is None:
        return np.asarray(otherwise(x.astype(np.float64)), np.float32)
    return np.array([function(float(value)) for value in x], np.float32)


def _c_function(name: str) -> Callable[[float], float] | None:
    try:
        function = getattr(ctypes.CDLL(_LIBRARY.get(sys.platform)), name)
    except (AttributeError, OSError, TypeError):
        # This system's C library has another name, or lacks this function.
        return None
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return partial(function)
