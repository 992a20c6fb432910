"""Det."""

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter
from qnn_ops.arithmetic.rounded import rounded

_MOST = 32
"""The most rows of a matrix. Each row adds some operators to the model."""


@converter("Det")
def _determinant(call: Call) -> Any:
    """Eliminate columns one by one; the pivot is a column's largest magnitude, as in Eigen."""
    (data,) = call.arrays(1)
    shape: tuple[int, ...] = (0, 0, *data.shape)
    *outer, size, width = shape
    outer = outer[2:]
    if size != width or not 0 < size <= _MOST or data.dtype != "float32":
        raise UnsupportedError(f"a matrix of {size} × {width}: square, float32, {_MOST} at most")
    count = prod(outer)
    rows = data.reshape(count, size, size)
    sign: Any = data.to(relax.const(np.float32(1)))
    product = sign
    for left in range(size, 0, -1):
        column = np.abs(rows[..., :1])
        index = column.to(R.argmax(column.expr, 1, keepdims=True))
        numbers = index.to(relax.const(np.arange(left).reshape(1, left, 1), "int64"))
        moved: Any = np.where(numbers == index, 0, numbers)
        moved = np.where(numbers == 0, index, moved)
        order: Any = np.broadcast_to(moved, (count, left, left))
        rows = rows.to(R.gather_elements(rows.expr, order.expr, axis=1))
        sign = np.where(index == 0, sign, -sign)
        top, pivot = rows[:, :1, :left], rows[:, :1, :1]
        product = product * pivot
        if left > 1:
            below = rows[:, 1:]
            divisor = np.where(pivot == 0, 1, pivot)
            share = below[..., :1] / divisor
            rows = (below - rounded(share * top))[..., 1:]
    return (sign * product).reshape(*outer)
