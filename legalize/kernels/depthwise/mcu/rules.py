"""Rules for depthwise convolutions on microcontrollers."""

from functools import partial

import numpy as np

from legalize.kernels.conv2d.calls import sums_first
from legalize.kernels.conv2d.mcu.epilogue import epilogue_of
from legalize.kernels.conv2d.mcu.rules import helium_epilogue, rules_of
from legalize.kernels.conv2d.plan import Planner, Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.mcu import columns, helium
from legalize.kernels.depthwise.mcu.kernel import depthwise_conv2d, packed_taps
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.helium import HELIUM
from legalize.kernels.isa.mcu import CORES, PAIRS, RISCV32, WORD
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d
from qnn_ops.arithmetic.sums import conv_factor

_MOST_TAPS = 32  # all are unrolled
_USUAL = 16  # sums of few products often allow no larger shift
_MOST_WEIGHTS = 255  # of magnitudes: with int8 their products add up to an int16


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


def plan_helium(spec: ConvSpec, weights: Weights) -> Ready | None:
    """Plan a depthwise convolution of int8.

    If ``columns`` does not serve it, sixteen channels must fill a vector, or fewer channels of
    several adjacent pixels.
    """
    taps = spec.kernel_height * spec.kernel_width
    if spec.dilation != (1, 1) or taps > _MOST_TAPS or spec.output.dtype != "int8":
        return None
    rows = weights.kernel.reshape(taps, spec.out_channels).T
    epilogue = helium_epilogue(spec, weights, rows, _USUAL)
    if epilogue is None:
        return None
    if columns.serves(spec) and epilogue.form is not None and epilogue.form.right > 1:
        arrays = np.ascontiguousarray(rows).reshape(-1), *epilogue.constants()
        return Ready(spec, arrays, partial(columns.depthwise_conv2d, spec, epilogue=epilogue))
    if helium.lanes_of(spec) is None:
        return None
    build = partial(helium.depthwise_conv2d, spec, epilogue=epilogue, groups=groups_of(rows))
    return Ready(spec, helium.packed(spec, rows, epilogue), build)


def groups_of(rows: Array) -> tuple[tuple[int, ...], ...]:
    """Return groups of taps whose products with int8 have sums within int16 in every channel.

    Args:
        rows: int8 [channels, taps].
    """
    sizes = np.abs(rows.astype(np.int64))
    rest, groups = sorted(range(rows.shape[1]), key=lambda tap: -int(sizes[:, tap].max())), []
    while rest:
        group = [rest.pop(0)]
        for tap in reversed(rest.copy()):
            if sizes[:, [*group, tap]].sum(axis=1).max() <= _MOST_WEIGHTS:
                group.append(tap)
                rest.remove(tap)
        groups.append(tuple(group))
    return tuple(groups)


def _row(features: tuple[str, ...], plan: Planner) -> Row:
    return quantized_conv2d, features, sums_first(rules_of(plan).depthwise, conv_factor)


ROWS = [
    _row(HELIUM, plan_helium),
    _row(PAIRS, partial(plan_depthwise, has_pairs=True)),
    _row(CORES, partial(plan_depthwise, has_pairs=False)),
    _row(RISCV32, partial(plan_depthwise, has_pairs=False)),
]
