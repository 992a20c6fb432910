"""Rules for convolutions and dense layers on ARM."""

from dataclasses import dataclass
from functools import partial

from tvm import tirx

from legalize.kernels.conv2d.arm.epilogue import can_requantize
from legalize.kernels.conv2d.arm.kernel import conv2d
from legalize.kernels.conv2d.arm.pack import PackedConv, pack_conv2d
from legalize.kernels.conv2d.arm.tiling import choose_tiling, microseconds
from legalize.kernels.conv2d.calls import sums_first
from legalize.kernels.conv2d.constants import each_group
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import rows_of
from legalize.kernels.isa.arm import DOTPROD, I8MM, ISAS, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.sums import conv_factor, dense_factor

LEAST_DEPTHWISE = 8
"""The fewest channels that a depthwise kernel serves: the channels of a vector."""


@dataclass(frozen=True)
class ArmPlan:
    """See ``conv2d.plan.Plan``.

    Attributes:
        spec: the convolution.
        isa: the instruction set, before it is adapted to the weights.
    """

    spec: ConvSpec
    isa: Isa

    @property
    def cost(self) -> float:
        """Microseconds."""
        taps = rows_of(self.spec)
        tiling = choose_tiling(self.spec, self.isa, taps)
        return microseconds(self.spec, self.isa, tiling, taps)

    def pack(self, weights: Weights) -> PackedConv:
        """Pack the constants: see ``pack_conv2d``."""
        return pack_conv2d(self.spec, weights, self.isa)

    def function(self, packed: PackedConv) -> tirx.PrimFunc:
        """Build the function: see ``conv2d``."""
        how = packed.isa, packed.epilogue, packed.tiling, packed.taps
        return conv2d(self.spec, *how, has_sums=packed.has_sums)


def _plan(spec: ConvSpec, _weights: Weights, *, isa: Isa) -> ArmPlan | None:
    """Return the plan, unless another instruction set of the same processors is faster."""
    plan = ArmPlan(spec, isa)
    if isa is not I8MM:
        return plan
    if spec.run_length < isa.depth or spec.out_pixels < isa.pixels:
        return None
    return plan if plan.cost < ArmPlan(spec, DOTPROD).cost else None


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
