"""Rules for depthwise convolutions on x86."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from legalize.kernels.conv2d.calls import conv_factor, ends_in_floats, sums_first
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.x86.kernel import depthwise_conv2d
from legalize.kernels.depthwise.x86.pack import PackedDepthwise, pack_depthwise
from legalize.kernels.isa.x86 import ISAS, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d

_ROUNDINGS = ("tflite", "upward", "float32", "onednn")


@dataclass(frozen=True)
class _Plan:
    """See ``conv2d.plan.Plan``. The rest of the plan depends on the weights."""

    spec: ConvSpec
    isa: Isa

    def pack(self, weights: Weights) -> PackedDepthwise:
        return pack_depthwise(self.spec, weights, self.isa)

    def function(self, packed: PackedDepthwise) -> tirx.PrimFunc:
        return depthwise_conv2d(packed.plan, packed.epilogue)


def _rules_of(isa: Isa) -> ConvRules:
    def plan(spec: ConvSpec, _weights: Weights) -> _Plan:
        return _Plan(spec, isa)

    return ConvRules(plan, lambda attrs, _: attrs.rounding in _ROUNDINGS, stages=False)


ROWS: list[Row] = [
    (
        quantized_conv2d,
        isa.features,
        sums_first(_rules_of(isa).depthwise, conv_factor, ends_in_floats),
    )
    for isa in ISAS
]
