"""Plans of depthwise convolutions with Helium."""

from functools import partial

import numpy as np

from legalize.kernels.conv2d.mcu.helium.plan import helium_epilogue
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.mcu import columns
from legalize.kernels.depthwise.mcu.helium import depthwise_conv2d, lanes_of, packed
from legalize.kernels.ir.vectors import Array

_MOST_TAPS = 32  # all are unrolled
_USUAL = 16  # sums of few products often allow no larger shift
_MOST_WEIGHTS = 255  # of magnitudes: with int8 their products add up to an int16


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
    if lanes_of(spec) is None:
        return None
    build = partial(depthwise_conv2d, spec, epilogue=epilogue, groups=groups_of(rows))
    return Ready(spec, packed(spec, rows, epilogue), build)


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
