"""The values of a graph's entries while its function is built: expressions and known arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from tvm import relax

Array = np.ndarray[Any, Any]

Value: TypeAlias = "relax.Expr | Array"
"""An expression, or an array where the value is known when the model is imported: a parameter of
the file, a calibrated range."""
