"""GlobalAveragePool, whose float32 sums have the order that ONNX Runtime adds them in."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.onnx.converters.known import is_dequantized, value_of
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of

_LANES = 4
# Inputs of a model with so many channels, or several times so many, are laid out in blocks of them
# where there is AVX512; a lane then adds up one channel.
_BLOCK = 16


@converter("GlobalAveragePool")
def _global_average_pool(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    (data,) = operands_of(operands, 1)
    shape = spec_of(data).shape
    is_input = value_of(builder, data) is None
    is_in_blocks = is_input and len(shape) == 4 and shape[1] % _BLOCK == 0
    # Of integers the sums are exact in any order, and this form is what becomes a quantized mean.
    if is_in_blocks or is_dequantized(builder, data):
        return R.mean(data, list(range(2, len(shape))), keepdims=True)
    rows, count = shape[0] * shape[1], prod(shape[2:])
    sums = _sums(builder, builder.emit(R.reshape(data, (rows, count))))
    means = builder.emit(R.divide(sums, relax.const(np.float32(count))))
    return R.reshape(means, (*shape[:2], *[1] * (len(shape) - 2)))


def _sums(builder: relax.BlockBuilder, rows: relax.Expr) -> relax.Expr:
    """Add up each row: vectors, then their lanes, then what no vector is left of, one by one."""
    emit, (number, count) = builder.emit, spec_of(rows).shape
    whole = count // _LANES * _LANES
    total: relax.Expr = relax.const(np.zeros((number, 1), np.float32))
    if whole:
        vectors = emit(R.strided_slice(rows, [1], [0], [whole]))
        vectors = emit(R.reshape(vectors, (number, whole // _LANES, _LANES)))
        total = emit(R.sum(vectors, 1))
        for size in (2, 1):
            halves = [
                emit(R.strided_slice(total, [1], [begin], [begin + size])) for begin in (0, size)
            ]
            total = emit(R.add(*halves))
    for place in range(whole, count):
        total = emit(R.add(total, R.strided_slice(rows, [1], [place], [place + 1])))
    return total
