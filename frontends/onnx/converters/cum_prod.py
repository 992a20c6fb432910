"""CumProd."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of


@converter("CumProd")
def _cum_prod(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Multiply each element with all before it, or of a reversed axis after it."""
    data, given = operands_of(operands, 2)
    known, rank = constant_of(given), len(spec_of(data).shape)
    if known is None or known.size != 1 or not -rank <= known.item() < rank:
        raise UnsupportedError("its axis must be constant, and one of the data's")
    axis, emit = int(known.item()) % rank, builder.emit
    turned = (lambda each: emit(R.flip(each, axis))) if attributes.get("reverse", 0) else emit
    found = R.cumprod(turned(data), axis, exclusive=bool(attributes.get("exclusive", 0)))
    return turned(emit(found))
