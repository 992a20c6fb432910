"""Rules for depthwise convolutions on microcontrollers."""

from functools import partial

from legalize.kernels.conv2d.calls import sums_first
from legalize.kernels.conv2d.mcu.epilogue import epilogue_of
from legalize.kernels.conv2d.mcu.rules import rules_of
from legalize.kernels.conv2d.plan import Planner, Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.mcu.helium_plan import plan_helium
from legalize.kernels.depthwise.mcu.kernel import depthwise_conv2d, packed_taps
from legalize.kernels.isa.helium import HELIUM
from legalize.kernels.isa.mcu import CORES, PAIRS, RISCV32, WORD
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d
from qnn_ops.arithmetic.sums import conv_factor

_MOST_TAPS = 32  # all are unrolled


def plan_depthwise(spec: ConvSpec, weights: Weights, *, has_pairs: bool) -> Ready | None:
    """Plan a depthwise convolution, if its rescaling has a form."""
    if spec.dilation != (1, 1) or spec.kernel_height * spec.kernel_width > _MOST_TAPS:
        return None
    rows = weights.kernel.reshape(-1, spec.out_channels).T
    epilogue = epilogue_of(spec, weights, rows)
    if epilogue is None:
        return None
    fits = has_pairs and spec.out_channels % WORD == 0
    taps = packed_taps(weights.kernel, has_pairs=fits)
    build = partial(depthwise_conv2d, spec, epilogue, has_pairs=fits)
    return Ready(spec, (taps, *epilogue.constants()), build)


def _row(features: tuple[str, ...], plan: Planner) -> Row:
    return quantized_conv2d, features, sums_first(rules_of(plan).depthwise, conv_factor)


ROWS = [
    _row(HELIUM, plan_helium),
    _row(PAIRS, partial(plan_depthwise, has_pairs=True)),
    _row(CORES, partial(plan_depthwise, has_pairs=False)),
    _row(RISCV32, partial(plan_depthwise, has_pairs=False)),
]
