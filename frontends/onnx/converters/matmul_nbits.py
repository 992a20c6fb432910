"""MatMulNBits, of floats or of data that is quantized when it runs."""

from __future__ import annotations

from typing import Any

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import blockwise_dense
from qnn_ops.registry import spec_of


@converter("MatMulNBits")
def _matmul_nbits(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Multiply by weights of a few bits; operands and attributes are ``blockwise_dense``'s."""
    data, weights, scales, points = operands_of(operands, 4)
    size, shape = int(attributes["block_size"]), spec_of(data).shape
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("its data must be float32")
    blocks = spec_of(scales).shape[1]
    if not shape or -(-shape[-1] // size) != blocks:
        raise UnsupportedError(f"data of shape {list(shape)} for {blocks} blocks of {size}")
    call = blockwise_dense(
        data,
        weights,
        scales,
        points,
        bits=int(attributes["bits"]),
        block_size=size,
        quantizes_data=bool(attributes["quantizes_data"]),
    )
    return builder.emit(call)
