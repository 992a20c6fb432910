"""Convolutions that write their output to some channels of a larger tensor."""

from __future__ import annotations

from functools import partial

from tvm import relax

from legalize.kernels.conv2d.spec import Fusion, Slice
from legalize.kernels.conv2d.x86.rules import CONV_ISAS, rules_of
from legalize.kernels.fusions import PARTS
from legalize.kernels.isa.x86 import Isa
from qnn_ops import quantized_conv2d
from qnn_ops.float_stage import ROUNDING
from qnn_ops.registry import attrs_of


def _part(
    builder: relax.BlockBuilder,
    call: relax.Call,
    part: Slice,
    into: relax.Expr | None,
    *,
    isa: Isa,
) -> relax.Expr | None:
    attrs = attrs_of(call)
    if attrs.rounding == ROUNDING:
        return None
    fusion = Fusion(part=part)
    return rules_of(isa).conv2d(builder, attrs, list(call.args), fusion=fusion, into=into)


for _isa in CONV_ISAS:
    PARTS.register(quantized_conv2d, *_isa.features)(partial(_part, isa=_isa))
