"""Outputs as step functions, and float32 constants with which they have the same steps.

An output is a step function of the accumulator x: it reaches k at some integer x_k, and there are
at most 255 such steps between the bounds of the clamp. Two functions with the same steps are equal.
So a sequence of instructions whose result never falls as x rises has to be checked only around the
steps of each channel: it must be below k at x_k − 1, and k or more at x_k.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Scales
from legalize.kernels.ir.vectors import Array

MAX_ACCUMULATOR = 1 << 30
"""Accumulators must stay below it."""
MAX_OFFSET = 1 << 24
"""Offsets of accumulators must stay below it; then the sums stay below 2^31."""
MAX_SHIFT = 20
"""Up to this shift, the search for steps fits in 64 bits; offsets allow no larger one."""
AT_ONCE = 32
"""The steps of so many channels fit in the processor's second cache."""

_MAX_PRODUCT = 1 << 31
# Float32 holds all integers up to it.
_MAX_EXACT = 1 << 24
# Scales that are tried, on each side of the nearest one.
_NEIGHBOURS = 2
# Far more than the rounding errors of float64.
_MARGIN = 2.0**-40


@dataclass(frozen=True)
class Steps:
    """The steps of each channel.

    Attributes:
        outputs: int64 [steps], the outputs above the clamp's lower bound.
        first: int64 [channels, steps], the least accumulators that give them.
        scale: float64 [channels], outputs for each unit of the accumulator.
    """

    outputs: Array
    first: Array
    scale: Array


def fits(scales: Scales, offset: Array) -> bool:
    """Tell whether accumulators, with their factor and with offsets added, fit 32 bits."""
    largest = int(np.abs(offset.astype(np.int64)).max())
    in_bits = scales.factor == 1 or (scales.bound + largest) * scales.factor < _MAX_PRODUCT
    return largest < MAX_OFFSET and in_bits


@lru_cache(maxsize=1)  # several epilogues ask for the steps of the same scales
def steps_of(output: OutputStage, scales: Scales) -> Steps | None:
    """Find the steps; None if outputs are not bytes, or shifts or accumulators are too large."""
    shift = scales.shift
    if output.dtype == "int32" or scales.bound >= MAX_ACCUMULATOR:
        return None
    if shift.max() > 0 or shift.min() < -MAX_SHIFT:
        return None
    q, e = scales.multiplier.astype(np.int64), -shift.astype(np.int64)
    outputs = np.arange(output.low + 1, output.high + 1)
    first = first_accumulators(output, np.maximum(q, 1)[:, None], e[:, None], outputs)
    # A channel whose multiplier is 0 has its steps out of reach.
    first[q == 0] = np.where(outputs <= output.zero_point, -MAX_ACCUMULATOR, MAX_ACCUMULATOR)
    return Steps(outputs, first, q * 2.0 ** (-31.0 - e))


def first_accumulators(output: OutputStage, q: Array, e: Array, outputs: Array) -> Array:
    """Return the smallest accumulator for which the fixed-point arithmetic gives each output."""
    k = outputs - output.zero_point
    half = np.where(e > 0, np.int64(1) << np.maximum(e - 1, 0), 0)
    if output.rounding == "upward":
        # (x·q + 2^(30+e)) >> (31+e) >= k
        return -(-((2 * k - 1) << (30 + e)) // q)
    # (h + half - [h < 0]) >> e >= k, with h = (x·q + 2^30) >> 31; nothing is subtracted for e = 0.
    h = (k << e) - half
    h[:, : np.count_nonzero(k <= 0)] += e > 0  # outputs ascend
    # -(-((2 * h - 1) << 30) // q), in place: the arrays are larger than the caches.
    h <<= 31
    np.subtract(1 << 30, h, out=h)
    h //= q
    return np.negative(h, out=h)


@dataclass(frozen=True)
class Line:
    """A straight line for each channel.

    Attributes:
        scale: float32 [channels].
        addend: float32 [channels].
    """

    scale: Array
    addend: Array


def line_through(
    scale: Array, first: Array, limits: Array, lowest: Array, highest: Array, *, factor: int = 1
) -> Line | None:
    """Find lines that reach each limit at its accumulator, and not at a smaller accumulator.

    Only accumulators are rounded, to float32.

    Args:
        scale: float64 [channels], close to the lines' scales.
        first: int64 [channels, steps], the accumulators.
        limits: int64 [channels, steps] or [steps].
        lowest: int64 [channels, 1], the lowest accumulator.
        highest: int64 [channels, 1], the highest accumulator.
        factor: the factor by which the lines' accumulators are too large.

    Returns:
        For each channel the first line that serves, from the nearest scale on; None if a channel
        has no such line.
    """
    limits = np.broadcast_to(limits.astype(np.float64), first.shape)
    ends = (np.broadcast_to(end, (len(first), 1)) for end in (lowest, highest))
    arrays = (first, limits, *ends)
    found = Line(*np.zeros((2, len(scale)), np.float32))
    # If a channel has no line, it mostly is one of those with the largest accumulators.
    order = np.argsort(scale)
    for start in range(0, len(scale), AT_ONCE):
        rows = order[start : start + AT_ONCE]
        line = _line(scale[rows], factor, *(array[rows] for array in arrays))
        if line is None:
            return None
        found.scale[rows], found.addend[rows] = line.scale, line.addend
    return found


def _line(
    scale: Array, factor: int, first: Array, limits: Array, lowest: Array, highest: Array
) -> Line | None:
    """Find the lines of a few channels; see ``line_through``."""
    arrays = [limits, *_reached(factor, first, lowest, highest)]
    found = Line(*np.zeros((2, len(scale)), np.float32))
    left = np.arange(len(scale))
    for slopes in _neighbours((scale / factor).astype(np.float32)):
        low, high = _addends(slopes[left, None].astype(np.float64), factor, *arrays)
        addend = ((low + high) / 2).astype(np.float32)
        serves = np.minimum(addend - low, high - addend) > _MARGIN
        done = left[serves]
        found.scale[done], found.addend[done] = slopes[done], addend[serves]
        left = left[~serves]
        if not len(left):
            return found
        arrays = [array[~serves] for array in arrays]
    return None


def _reached(factor: int, first: Array, lowest: Array, highest: Array) -> list[Array]:
    """Return where lines must reach their limits: float64, accumulators as float32 has them.

    Three arrays follow if float32 rounds an accumulator or a step is out of reach: how far the
    accumulators are above those before them, which steps are above the highest accumulator, and
    which ones the lowest accumulator has reached.
    """
    if first.size:
        least, most = first.min(axis=1, keepdims=True), first.max(axis=1, keepdims=True)
        is_exact = factor * (max(most.max(), -least.min()) + 1) <= _MAX_EXACT
        if is_exact and (least > lowest).all() and (most <= highest).all():
            return [factor * first.astype(np.float64)]
    # If a step is out of reach, the furthest accumulator must be on its side of the limit.
    reached = factor * np.minimum(np.maximum(first, lowest), highest + 1)
    at = reached.astype(np.float32).astype(np.float64)
    gap = at - (reached - factor).astype(np.float32)
    return [at, gap, first > highest, first <= lowest]


def _addends(
    slopes: Array,
    factor: int,
    limits: Array,
    at: Array,
    gap: Array | None = None,
    is_beyond: Array | None = None,
    is_passed: Array | None = None,
) -> tuple[Array, Array]:
    """Return the bounds of the addends with which lines of these slopes serve.

    Args:
        slopes: float64 [channels, 1].
        factor: see ``line_through``.
        limits: float64 [channels, steps].
        at: see ``_reached``.
        gap: see ``_reached``; without it and the masks every gap is the factor.
        is_beyond: see ``_reached``.
        is_passed: see ``_reached``.
    """
    # These products are exact, and their sums with numbers of 24 bits almost so.
    least = at * slopes
    np.subtract(limits, least, out=least)
    if gap is None:
        return least.max(axis=1), least.min(axis=1) + factor * slopes[:, 0]
    most = least + gap * slopes
    least[is_beyond], most[is_passed] = -np.inf, np.inf
    low = least.max(axis=1, initial=-np.inf)
    high = most.min(axis=1, initial=np.inf)
    # If nothing limits one side, any addend serves.
    low = np.where(np.isinf(low), np.minimum(high, 1) - 1, low)
    return low, np.where(np.isinf(high), low + 1, high)


def _neighbours(scale: Array) -> Iterator[Array]:
    """Yield the nearest float32 numbers and their neighbours."""
    yield scale
    for end in (0, np.inf):
        near = scale
        for _ in range(_NEIGHBOURS):
            near = np.nextafter(near, np.float32(end))
            yield near
