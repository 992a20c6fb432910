"""Rules for depthwise convolutions on ARM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from tvm import tirx

from legalize.kernels.conv2d.arm.rules import LEAST_DEPTHWISE, rules_of
from legalize.kernels.conv2d.calls import conv_factor, sums_first
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.arm.kernel import depthwise_conv2d
from legalize.kernels.depthwise.arm.pack import PackedDepthwise, pack_depthwise
from legalize.kernels.isa.arm import ARMV7, NEON, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d


@dataclass(frozen=True)
class _Plan:
    """See ``conv2d.plan.Plan``. The rest of the plan depends on the weights."""

    spec: ConvSpec
    isa: Isa

    def pack(self, weights: Weights) -> PackedDepthwise:
        return pack_depthwise(self.spec, weights, self.isa)

    def function(self, packed: PackedDepthwise) -> tirx.PrimFunc:
        return depthwise_conv2d(packed.plan, packed.epilogue)


def _plan(spec: ConvSpec, _weights: Weights, *, isa: Isa) -> _Plan | None:
    return None if spec.out_channels < LEAST_DEPTHWISE else _Plan(spec, isa)


def _row(isa: Isa) -> Row:
    rules = replace(rules_of(isa), plan=partial(_plan, isa=isa))
    return quantized_conv2d, isa.features, sums_first(rules.depthwise, conv_factor)


ROWS = [_row(isa) for isa in (NEON, ARMV7)]
