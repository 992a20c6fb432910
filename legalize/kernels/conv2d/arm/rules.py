"""Rules for convolutions and dense layers on ARM."""

from functools import partial

from legalize.kernels.conv2d.arm.epilogue import can_requantize
from legalize.kernels.conv2d.arm.pack import pack_conv2d
from legalize.kernels.conv2d.arm.tiling import choose_tiling, microseconds
from legalize.kernels.conv2d.calls import sums_first
from legalize.kernels.conv2d.constants import each_group
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import rows_of
from legalize.kernels.isa.arm import DOTPROD, I8MM, ISAS, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.sums import conv_factor, dense_factor

LEAST_DEPTHWISE = 8
"""The fewest channels that a depthwise kernel serves: the channels of a vector."""


def _plan(spec: ConvSpec, weights: Weights, *, isa: Isa) -> Ready | None:
    """Plan a convolution, unless another instruction set of the same processors is faster."""
    if isa is I8MM:
        if spec.run_length < isa.depth or spec.out_pixels < isa.pixels:
            return None
        if _microseconds(spec, isa) >= _microseconds(spec, DOTPROD):
            return None
    return pack_conv2d(spec, weights, isa)


def _microseconds(spec: ConvSpec, isa: Isa) -> float:
    taps = rows_of(spec)
    return microseconds(spec, isa, choose_tiling(spec, isa, taps), taps)


def rules_of(isa: Isa) -> ConvRules:
    """Return the rules of an instruction set."""
    return ConvRules(
        partial(_plan, isa=isa),
        lambda attrs, multiplier: can_requantize(isa, attrs.rounding, multiplier),
        "int8",
    )


def _rows(isa: Isa) -> list[Row]:
    rules = rules_of(isa)
    conv2d = sums_first(each_group(rules.conv2d, LEAST_DEPTHWISE), conv_factor)
    dense = sums_first(rules.dense, dense_factor)
    return [
        (quantized_conv2d, isa.features, conv2d),
        (quantized_dense, isa.features, dense),
    ]


ROWS = [row for isa in ISAS for row in _rows(isa)]
