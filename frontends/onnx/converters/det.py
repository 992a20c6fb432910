"""Det."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

_MOST = 32
"""Rows of a matrix. Each row adds some operators to the model."""


@converter("Det")
def _determinant(call: Call) -> relax.Expr:
    """Eliminate column by column, by the row that has the largest number there, as Eigen does."""
    (data,) = call.operands(1)
    emit, (*outer, size, width) = call.emit, (0, 0, *spec_of(data).shape)
    outer = outer[2:]
    if size != width or not 0 < size <= _MOST or spec_of(data).dtype != "float32":
        raise UnsupportedError(f"a matrix of {size} × {width}: square, float32, {_MOST} at most")
    count = prod(outer)
    rows = emit(R.reshape(data, (count, size, size)))
    zero, one = (relax.const(np.float32(each)) for each in (0, 1))
    sign, product = one, one
    for left in range(size, 0, -1):
        column = emit(R.strided_slice(rows, [2], [0], [1]))
        place = emit(R.argmax(emit(R.abs(column)), 1, keepdims=True))
        numbers = relax.const(np.arange(left).reshape(1, left, 1), "int64")
        first = relax.const(0, "int64")
        moved = emit(R.where(R.equal(numbers, place), first, numbers))
        moved = emit(R.where(R.equal(numbers, first), place, moved))
        rows = emit(
            R.gather_elements(rows, emit(R.broadcast_to(moved, (count, left, left))), axis=1)
        )
        sign = emit(R.where(emit(R.equal(place, first)), sign, emit(R.negative(sign))))
        top, pivot = (emit(R.strided_slice(rows, [1, 2], [0, 0], [1, end])) for end in (left, 1))
        product = emit(R.multiply(product, pivot))
        if left > 1:
            below = emit(R.strided_slice(rows, [1], [1], [left]))
            divisor = emit(R.where(emit(R.equal(pivot, zero)), one, pivot))
            share = emit(R.divide(emit(R.strided_slice(below, [2], [0], [1])), divisor))
            taken = emit(rounded(emit(R.multiply(share, top))))
            rows = emit(R.strided_slice(emit(R.subtract(below, taken)), [2], [1], [left]))
    return R.reshape(emit(R.multiply(sign, product)), outer)
