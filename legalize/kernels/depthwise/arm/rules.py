"""Rules for depthwise convolutions on ARM."""

from dataclasses import replace
from functools import partial

from legalize.kernels.conv2d.arm.rules import LEAST_DEPTHWISE, rules_of
from legalize.kernels.conv2d.calls import sums_first
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.arm.pack import pack_depthwise
from legalize.kernels.isa.arm import ARMV7, NEON, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d
from qnn_ops.arithmetic.sums import conv_factor


def _plan(spec: ConvSpec, weights: Weights, *, isa: Isa) -> Ready | None:
    if spec.out_channels < LEAST_DEPTHWISE:
        return None
    return pack_depthwise(spec, weights, isa)


def _row(isa: Isa) -> Row:
    rules = replace(rules_of(isa), plan=partial(_plan, isa=isa))
    return quantized_conv2d, isa.features, sums_first(rules.depthwise, conv_factor)


ROWS = [_row(isa) for isa in (NEON, ARMV7)]
