"""SpaceToDepth."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of

_ORDERS = {b"DCR": [0, 3, 5, 1, 2, 4], b"CRD": [0, 1, 3, 5, 2, 4]}
"""By mode, the axes of a block's rows and columns before the channels, or behind them."""
_IMAGE = 4
"""The axes of images."""


@converter("SpaceToDepth")
def _space_to_depth(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Make channels of the pixels of blocks, of images whose channels are first."""
    (data,) = operands_of(operands, 1)
    shape, size = spec_of(data).shape, int(attributes.get("blocksize", 0))
    mode = attributes.get("mode", b"DCR")
    if len(shape) != _IMAGE or size < 1 or shape[2] % size or shape[3] % size:
        raise UnsupportedError(f"blocks of {size} in data of shape {list(shape)}")
    if mode not in _ORDERS:
        raise UnsupportedError(f"mode {mode.decode()!r} is not known")
    batch, channels, rows, columns = shape[0], shape[1], shape[2] // size, shape[3] // size
    blocks = R.reshape(data, (batch, channels, rows, size, columns, size))
    turned = builder.emit(R.permute_dims(builder.emit(blocks), _ORDERS[mode]))
    return R.reshape(turned, (batch, channels * size * size, rows, columns))
