"""quantized_pad in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.registry import primitive
from qnn_ops.quantized_pad import quantized_pad
from qnn_ops.registry import Attrs


@primitive(quantized_pad)
def _quantized_pad(_builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    if not any(attrs.pad_width):
        return data
    return R.nn.pad(data, list(attrs.pad_width), pad_value=attrs.pad_value)
