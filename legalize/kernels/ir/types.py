"""Types of arguments of functions that write code. TVM has no type stubs: all are Any."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""Constants, at compile time."""
Buffer: TypeAlias = Any
"""Memory to load from and store to: an argument of the function, or what it allocates."""
Index: TypeAlias = Any
"""An int32 or int64 expression: a place in a buffer, a number of a loop's turns; or an int."""
Vector: TypeAlias = Any
"""An expression of one lane or more."""
Expr: TypeAlias = Any
"""Any other expression."""
