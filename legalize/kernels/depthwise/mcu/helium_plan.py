"""Plans of depthwise convolutions with Helium."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.helium.plan import helium_epilogue
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.mcu import columns
from legalize.kernels.depthwise.mcu.helium import depthwise_conv2d, lanes_of, packed
from legalize.kernels.ir.vectors import Array

_MOST_TAPS = 32  # all are unrolled
_USUAL = 16  # sums of few products often allow no larger shift
_MOST_WEIGHTS = 255  # of magnitudes: with int8 their products add up to an int16


@dataclass(frozen=True, eq=False)
class HeliumDepthwise:
    """See ``conv2d.plan.Plan``.

    Attributes:
        spec: the convolution.
        epilogue: turns the sums into outputs.
        groups: groups of taps whose products are added in 16 bits; None if one instruction adds the
            products of all taps, as in ``columns``.
        constants: the arrays, in the order of the function's arguments.
    """

    spec: ConvSpec
    epilogue: Epilogue
    groups: tuple[tuple[int, ...], ...] | None
    constants: tuple[Array, ...]

    def pack(self, _weights: Weights) -> HeliumDepthwise:
        """Return this: the epilogue was proven for its weights."""
        return self

    def function(self, _packed: HeliumDepthwise) -> tirx.PrimFunc:
        """Build the function: see the two functions ``depthwise_conv2d``."""
        if self.groups is None:
            return columns.depthwise_conv2d(self.spec, self.epilogue)
        return depthwise_conv2d(self.spec, self.epilogue, self.groups)


def plan_helium(spec: ConvSpec, weights: Weights) -> HeliumDepthwise | None:
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
        return HeliumDepthwise(spec, epilogue, None, arrays)
    if lanes_of(spec) is None:
        return None
    arrays = packed(spec, rows, epilogue)
    return HeliumDepthwise(spec, epilogue, groups_of(rows), arrays)


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
