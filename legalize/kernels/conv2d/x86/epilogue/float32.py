"""Requantization in float32, if it is proved to give the integers of the fixed-point one.

See steps.py for the proof. The sequence is

    floor(x·s + (x·l + c)),    x: accumulator + offset,   s + l: the scale,   c: the rest

It never falls as x rises: the conversion of x does not fall, and neither does a fused multiply-add
with nonnegative s and l. The outer multiply-add rounds down, so it changes no floor. The inner one
is so much smaller than a step that its rounding hardly ever matters. The offset is part of the
bias. It contains the zero point and the half that makes a floor round, except for a rest c < s.

TFLite's double rounding lowers the steps below zero a little, so they need another c.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.conv2d.x86.epilogue.steps import (
    AT_ONCE,
    MAX_ACCUMULATOR,
    MAX_OFFSET,
    fits,
    steps_of,
)
from legalize.kernels.ir.vectors import Array, Vector
from legalize.kernels.isa.x86_instructions import floor_of_product

_LANES = 16


@dataclass(frozen=True)
class Float32(Epilogue):
    """The sequence.

    Attributes:
        has_two_addends: whether c differs below zero.
    """

    takes_factor: ClassVar[bool] = True
    has_two_addends: bool

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve vectors of AVX512, if there is a proof.

        The rows are s, l, c; and, if c differs below zero, that c and the accumulator of zero.
        """
        # Only AVX512 can round down by an instruction, not by the processor's state.
        if lanes.shape[1] != _LANES:
            return None
        found = float_scales(output, scales)
        if found is None or not fits(scales, found.offset):
            return None
        rows = [found.high, found.low, found.addend]
        offsets: tuple[Array, ...] = ()
        if found.addend_below is not None:
            rows.append(found.addend_below)
            offsets = (deal(found.offset * np.int32(scales.factor), lanes)[:, None],)
        table = np.stack([deal(row, lanes) for row in rows], axis=1)
        epilogue = cls(bool(offsets), factor=scales.factor)
        return Chosen(epilogue, (table, *offsets), found.offset)

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return two fused multiply-adds."""
        table = rows[0]
        addend = table(2)
        if self.has_two_addends:
            addend = T.Select(x < rows[1](0), table(3), addend)
        value = T.Cast("float32x16", x)
        inner = T.call_llvm_pure_intrin("float32x16", "llvm.fma.v16f32", value, table(1), addend)
        return floor_of_product(value, table(0), inner)


@dataclass(frozen=True)
class FloatScales:
    """The constants of each channel that the sequence needs.

    Attributes:
        offset: int32 [channels], added to the accumulators.
        high: float32 [channels], s.
        low: float32 [channels], l.
        addend: float32 [channels], c.
        addend_below: float32 [channels], c for negative accumulators; None if it is the same.
    """

    offset: Array
    high: Array
    low: Array
    addend: Array
    addend_below: Array | None


def float_scales(output: OutputStage, scales: Scales) -> FloatScales | None:
    """Find scales for which the sequence is exact; None if there is no proof for every channel."""
    found = steps_of(output, scales)
    if found is None:
        return None
    steps, scale, outputs, factor = found.first, found.scale, found.outputs, scales.factor
    # A channel whose multiplier is 0 counts as one whose steps are out of reach.
    is_dead = scale == 0
    divided = scale / factor
    high = divided.astype(np.float32)
    high = np.where(high > divided, np.nextafter(high, np.float32(0)), high)
    low = (divided - high).astype(np.float32)
    target = output.zero_point + 0.5
    with np.errstate(divide="ignore"):
        offset = np.where(is_dead, 0.0, np.rint(target / scale))
    if np.abs(offset).max() >= MAX_OFFSET:
        return None
    offset = offset.astype(np.int64)

    # The lower bound of c, if the scale were s + l. Its upper bound is larger by the scale.
    least = outputs - (steps + offset[:, None]) * scale[:, None]
    middle = target - offset * scale

    def addend_for(columns: slice) -> Array:
        part = least[:, columns]
        if not part.size:
            return middle.astype(np.float32)
        lowest, highest = part.max(axis=1), part.min(axis=1) + scale
        return np.where(is_dead, target, (lowest + highest) / 2).astype(np.float32)

    # Outputs ascend.
    count = int(np.count_nonzero(outputs <= output.zero_point)) if output.has_two_floors else 0
    addend = addend_for(slice(count, None))
    below = addend_for(slice(count)) if output.has_two_floors else None
    own = FloatScales(offset.astype(np.int32), high, low, addend, below)
    return own if _is_exact(output, own, steps, outputs, is_dead, factor) else None


def _is_exact(
    output: OutputStage,
    scales: FloatScales,
    steps: Array,
    outputs: Array,
    is_dead: Array,
    factor: int,
) -> bool:
    """Tell whether the sequence rises where the fixed-point arithmetic does, for every channel."""

    def reaches(rows: slice, x: Array, k: Array, *, at_least: bool) -> Array:
        """Tell whether the result is k or more: certainly, or at least possibly."""
        addend = scales.addend[rows, None].astype(np.float64)
        if scales.addend_below is not None:
            addend = np.where(x < 0, scales.addend_below[rows, None], addend)
        value = factor * (x + scales.offset[rows, None].astype(np.int64))
        value = value.astype(np.float32).astype(np.float64)
        product = value * scales.low[rows, None]
        inner = product + addend
        # The slack covers any rounding of the inner sum. The rest is exact in float64.
        slack = (np.abs(product) + np.abs(addend)) * 2.0**-23
        inner = inner - slack if at_least else inner + slack
        return value * scales.high[rows, None] - k >= -inner

    def rises(rows: slice) -> bool:
        """Tell whether the results of some channels rise at their steps."""
        # No accumulator lies beyond this bound. Sums of accumulators and offsets are far from the
        # ends of 32 bits.
        first = steps[rows]
        good = reaches(rows, first, outputs, at_least=True) | (first > MAX_ACCUMULATOR)
        good &= ~reaches(rows, first - 1, outputs, at_least=False) | (first <= -MAX_ACCUMULATOR)
        if scales.addend_below is not None:
            # Each addend rises at its own steps; it must not rise at the other's.
            zero = np.full((len(first), 1), output.zero_point)
            good &= reaches(rows, zero * 0, zero, at_least=True)
            good &= ~reaches(rows, zero * 0 - 1, zero + 1, at_least=False)
        return bool((good | is_dead[rows, None]).all())

    return all(rises(slice(i, i + AT_ONCE)) for i in range(0, len(steps), AT_ONCE))
