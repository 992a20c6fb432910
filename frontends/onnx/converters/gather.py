"""Gather."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of


@converter("Gather")
def _gather(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return elements along an axis; negative places count from its end.

    ONNX Runtime refuses places that are outside when it runs. Here they are the nearest ones.
    """
    data, places = operands_of(operands, 2)
    shape = spec_of(data).shape
    axis = int(attributes.get("axis", 0)) % len(shape)
    dtype = spec_of(places).dtype
    zero, extent = (relax.const(number, dtype) for number in (0, shape[axis]))
    places = R.where(R.less(places, zero), R.add(places, extent), places)
    return R.take(data, builder.emit(places), axis, mode="clip")
