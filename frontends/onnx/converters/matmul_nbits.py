"""MatMulNBits, of floats or of data that is quantized when it runs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import blockwise_dense
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

_MOST = 127


@converter("MatMulNBits")
def _matmul_nbits(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Multiply by weights of a few bits.

    The operands are float32 [..., depth], and those of ``blockwise_dense`` where there are bits.
    """
    data = operands[0]
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("its data must be float32")
    if "bits" not in attributes:
        return _integer_product(builder, operands)
    how = {name: int(attributes[name]) for name in ("bits", "block_size")}
    return blockwise_dense(*operands_of(operands, 4), **how)


def _integer_product(builder: relax.BlockBuilder, operands: Operands) -> relax.Expr:
    """Multiply each block of a row as integers, and add up what these stand for.

    A block of data is multiplied by 127 over its largest magnitude and rounded; ONNX Runtime adds
    the products of blocks in an order of its processor's. Source of the arithmetic: accuracy level
    4 of MLAS, QuantizeARow_CompInt8 of core/mlas/lib/sqnbitgemm_kernel_avx512.cpp.

    The operands are float32 [..., depth], int16 weights without their zero points,
    [blocks, size, units], and float32 scales, [blocks, units].
    """
    data, weights, scales = operands_of(operands, 3)
    shape, emit = spec_of(data).shape, builder.emit
    blocks, size, units = spec_of(weights).shape
    if not shape or -(-shape[-1] // size) != blocks:
        raise UnsupportedError(f"data of shape {list(shape)} for {blocks} blocks of {size}")
    count, depth = prod(shape[:-1]), shape[-1]
    rows = emit(R.reshape(data, (count, depth)))
    if depth < blocks * size:
        more = relax.const(np.zeros((count, blocks * size - depth), np.float32))
        rows = emit(R.concat([rows, more], 1))
    rows = emit(R.reshape(rows, (count, blocks, size)))
    rows = emit(R.permute_dims(rows, [1, 0, 2]))
    zero, most = (relax.const(np.float32(number)) for number in (0, _MOST))
    largest = emit(R.max(emit(R.abs(rows)), -1, keepdims=True))
    is_none = emit(R.equal(largest, zero))
    factor = emit(R.where(is_none, zero, emit(R.divide(most, largest))))
    steps = emit(R.astype(emit(R.round(emit(R.multiply(rows, factor)))), "int16"))
    sums = emit(R.matmul(steps, weights, out_dtype="int32"))
    own = emit(R.divide(largest, most))
    wide = emit(R.multiply(own, emit(R.reshape(scales, (blocks, 1, units)))))
    products = emit(R.multiply(emit(R.astype(sums, "float32")), wide))
    total = emit(R.sum(emit(rounded(products)), 0))
    return emit(R.reshape(total, (*shape[:-1], units)))
