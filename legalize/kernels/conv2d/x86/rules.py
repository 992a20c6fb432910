"""Which calls of convolutions and dense layers x86 kernels serve."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tvm import relax

from legalize.kernels.conv2d.calls import (
    conv_factor,
    dense_factor,
    ends_in_floats,
    sums_first,
)
from legalize.kernels.conv2d.plan import Plan, Weights
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.ways import cheapest_plan
from legalize.kernels.isa.x86 import AMX, ISAS, Isa
from legalize.kernels.table import kernel
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.registry import Attrs

CONV_ISAS = (AMX, *ISAS)
"""What convolutions are computed with, the fastest first."""

_ROUNDINGS = ("tflite", "upward", "float64", "onednn")


def rules_of(isa: Isa) -> ConvRules:
    """The rules of an instruction set."""

    def plan(spec: ConvSpec, weights: Weights) -> Plan:
        return cheapest_plan(spec, isa, weights)

    return ConvRules(plan, lambda attrs, _: attrs.rounding in _ROUNDINGS)


def _sum(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr], *, isa: Isa
) -> relax.Expr | None:
    """A convolution that adds a tensor, on processors that do it with one rounding."""
    if len(operands) < 4 or isa.lanes < 8:
        return None
    return rules_of(isa).conv2d(builder, attrs, operands)


for _isa in CONV_ISAS:
    _rules = rules_of(_isa)
    kernel(quantized_conv2d, *_isa.features, "fma")(partial(_sum, isa=_isa))
    kernel(quantized_conv2d, *_isa.features)(sums_first(_rules.conv2d, conv_factor, ends_in_floats))
    kernel(quantized_dense, *_isa.features)(sums_first(_rules.dense, dense_factor, ends_in_floats))
