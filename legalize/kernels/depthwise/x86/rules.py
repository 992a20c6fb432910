"""Rules for depthwise convolutions on x86."""

from functools import partial

from legalize.kernels.conv2d.calls import ends_in_floats, sums_first
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.depthwise.x86.pack import pack_depthwise
from legalize.kernels.isa.x86 import ISAS, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d
from qnn_ops.arithmetic.sums import conv_factor

_ROUNDINGS = ("tflite", "upward", "float32", "onednn")


def _rules_of(isa: Isa) -> ConvRules:
    plan = partial(pack_depthwise, isa=isa)
    return ConvRules(plan, lambda attrs, _: attrs.rounding in _ROUNDINGS, stages=False)


ROWS: list[Row] = [
    (
        quantized_conv2d,
        isa.features,
        sums_first(_rules_of(isa).depthwise, conv_factor, ends_in_floats),
    )
    for isa in ISAS
]
