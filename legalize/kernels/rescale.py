"""Rescales sums with one product, proven equal to the reference for every possible sum.

A rescaling to 8 bits is a staircase of at most 255 steps over the sums that a channel can reach.
A form with one product is the same staircase if it has the same steps. For given factors, each
step bounds its addend from both sides. So nothing has to be tried: the bounds prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from legalize.kernels.ir.vectors import Array

USUAL = 17
"""The right shift that is tried first, so that many layers have the same one."""

Staircase = Callable[[Array], Array]
"""Maps int64 sums, whose last axis is the channels, to clamped outputs; it never descends."""

HIGH = 32  # bits that a narrow form drops of its products
_MOST_LEFT, _MOST_RIGHT = 14, 21  # beyond these shifts an addend gets too large for its dtype
_LARGEST = {False: 1 << 30, True: 1 << 61}  # the largest addend, by whether the form is wide
_NEARBY = (0, 1, -1, 2, -2, 3, -3)
_FARTHER = tuple(sign * offset for offset in range(4, 65) for sign in (1, -1))
_FEW = 8  # one in this many channels may need a multiplier that is farther from its scale


@dataclass(frozen=True, eq=False)
class Form:
    """``high32((sum << left) · multiplier) + addend >> right``, then clamped.

    Attributes:
        left: one number for all channels, or one for each.
        right: one number for all channels.
        multiplier: int32, not negative: one number for all channels, or one for each.
        addend: [1, channels], or [2, channels]: for sums from 0 on, and for negative ones. Narrow
            forms have int32. Wide forms have int64, added before the low 32 bits are dropped.
    """

    left: Array
    right: int
    multiplier: Array
    addend: Array

    @property
    def is_wide(self) -> bool:
        """Whether all 64 bits of a product count."""
        return bool(self.addend.dtype == np.int64)

    def __call__(self, sums: Array) -> Array:
        """Compute from int64 sums the kernels' results before the clamp."""
        sign = (sums < 0).astype(np.int64) * (len(self.addend) - 1)
        channels = np.broadcast_to(np.arange(self.addend.shape[1]), sums.shape)
        products = (sums << self.left) * self.multiplier.astype(np.int64)
        addend = self.addend[sign, channels].astype(np.int64)
        if self.is_wide:
            return np.asarray((products + addend) >> (HIGH + self.right))
        return np.asarray(((products >> HIGH) + addend) >> self.right)


@dataclass(frozen=True, eq=False)
class _Steps:
    """The conditions of a form: outputs at the sums where they change, and at the ends.

    Attributes:
        starts: [steps, channels] sums from which on the output is at least ``from_here``.
        from_here: the outputs.
        has_start: which of these outputs exist.
        ends: [steps, channels] the last sums whose output is below ``up_to_here``.
        up_to_here: the outputs.
        has_end: which of these outputs exist.
    """

    starts: Array
    from_here: Array
    has_start: Array
    ends: Array
    up_to_here: Array
    has_end: Array

    def of(self, channels: Array) -> _Steps:
        """Select channels by their numbers."""
        return _Steps(*(getattr(self, each.name)[:, channels] for each in fields(self)))


def steps_of(staircase: Staircase, least: Array, most: Array, low: int, high: int) -> _Steps:
    """Find the steps of a staircase for all channels at a time.

    Args:
        staircase: the reference.
        least: int64 [channels], the least sum of each channel.
        most: int64 [channels], the largest sum of each channel.
        low: the lower bound of the outputs.
        high: the upper bound.
    """
    first, last = (staircase(end[None])[0].astype(np.int64) for end in (least, most))
    outputs = np.arange(low + 1, high + 1)[:, None]
    is_there = (first < outputs) & (outputs <= last)
    below = np.broadcast_to(least, is_there.shape)
    reached = np.where(is_there, np.broadcast_to(most, is_there.shape), below)
    while (reached - below > 1).any():
        middle = (below + reached) // 2
        is_reached = (staircase(middle) >= outputs) & (middle > below)
        below = np.where(is_reached, below, middle)
        reached = np.where(is_reached, middle, reached)
    outputs = np.broadcast_to(outputs, is_there.shape)
    # The clamp hides steps beyond the bounds.
    return _Steps(
        np.vstack([reached, least[None]]),
        np.vstack([outputs, first[None]]),
        np.vstack([is_there, (first > low)[None]]),
        np.vstack([reached - 1, most[None]]),
        np.vstack([outputs, last[None] + 1]),
        np.vstack([is_there, (last < high)[None]]),
    )


def prove(
    staircase: Staircase,
    real: Array,
    least: Array,
    most: Array,
    bounds: tuple[int, int],
    *,
    narrow: bool = False,
    usual: int = USUAL,
) -> Form | None:
    """Return a form that equals the reference for every sum of every channel; None if not found.

    The cheapest kind that serves all channels is taken: narrow before wide, one addend before one
    for each sign, one left shift before one for each channel.

    Args:
        staircase: the reference, of outputs in ``bounds``.
        real: float64 [channels], the approximate number of outputs in a step of a sum.
        least: int64 [channels], the least sum that each channel can reach.
        most: int64 [channels], the largest sum that each channel can reach.
        bounds: the bounds of the outputs.
        narrow: whether only forms of 32 bits with one addend will do.
        usual: the right shift that is tried first.
    """
    if not (real >= 0).all() or not (real < 1).all():
        return None
    if min(least.min(), -1) < -(2**31) or most.max() >= 2**31:
        return None
    steps = steps_of(staircase, least, most, *bounds)
    is_constant = ~steps.has_start[:-1].any(axis=0)
    real = np.where(is_constant, 0.0, real)
    for is_wide, has_signs, left, right in _kinds(real, least, most, usual):
        if narrow and (is_wide or has_signs):
            return None
        form = _form(steps, real, left, right, is_wide=is_wide, has_signs=has_signs)
        if form is not None:
            return form
    return None


def _kinds(
    real: Array, least: Array, most: Array, usual: int
) -> Iterator[tuple[bool, bool, Array, int]]:
    reach = np.maximum(np.maximum(abs(least), abs(most)), 1)
    bits = np.floor(np.log2(reach.astype(np.float64))).astype(np.int64) + 1
    own = np.clip(31 - bits, 0, _MOST_LEFT)
    live = real > 0
    lefts = [np.full_like(own, own[live].min(initial=_MOST_LEFT)), own]
    # A constant channel needs no products.
    lefts = [np.where(live, left, 0) if left is own else np.minimum(left, own) for left in lefts]
    if (lefts[0] == lefts[1]).all():
        lefts.pop()
    for is_wide, has_signs in ((False, False), (False, True), (True, False), (True, True)):
        for left in lefts:
            largest = left[live] - 1 - np.log2(real[live]) - 1e-9
            most_right = int(np.floor(largest.min(initial=0.0 if not live.any() else np.inf)))
            first = (usual,) if most_right > usual else ()
            for right in (*first, most_right, most_right - 1):
                if right >= 0:
                    yield is_wide, has_signs, left, min(right, _MOST_RIGHT)


def _form(
    steps: _Steps, real: Array, left: Array, right: int, *, is_wide: bool, has_signs: bool
) -> Form | None:
    middle = np.rint(real * 2.0 ** (HIGH + right - left)).astype(np.int64)
    dtype = np.int64 if is_wide else np.int32
    one_left = left[:1] if (left == left[0]).all() else left
    live = np.unique(middle[real > 0])
    if live.size == 1:
        # Constant channels take any multiplier that fits.
        for offset in _NEARBY:
            tried = np.clip(live + offset, 0, 2**31 - 1)
            found, fits = _addends(steps, tried, left, right, is_wide=is_wide, has_signs=has_signs)
            if fits.all():
                return Form(one_left, right, tried.astype(np.int32), found.astype(dtype))
    multiplier, addend = np.full_like(middle, -1), np.zeros((1 + has_signs, len(real)), np.int64)
    for offset in (*_NEARBY, *_FARTHER):
        rest = np.flatnonzero(multiplier < 0)
        if not rest.size:
            return Form(one_left, right, multiplier.astype(np.int32), addend.astype(dtype))
        if abs(offset) > max(_NEARBY) and _FEW * rest.size > len(real):
            return None
        tried = np.where(real > 0, np.clip(middle + offset, 0, 2**31 - 1), 0)[rest]
        found, fits = _addends(
            steps.of(rest), tried, left[rest], right, is_wide=is_wide, has_signs=has_signs
        )
        multiplier[rest[fits]], addend[:, rest[fits]] = tried[fits], found[:, fits]
    return None


def _addends(
    steps: _Steps, multiplier: Array, left: Array, right: int, *, is_wide: bool, has_signs: bool
) -> tuple[Array, Array]:
    """Return addends by sign, and the channels that they serve."""

    def least_sums(sums: Array, outputs: Array) -> Array:
        products = (sums << left) * multiplier
        if is_wide:
            return np.asarray((outputs << (HIGH + right)) - products)
        return np.asarray((outputs << right) - (products >> HIGH))

    nothing: Any = np.int64(2**62)
    starts = least_sums(steps.starts, steps.from_here)
    ends = least_sums(steps.ends, steps.up_to_here) - 1
    rows, fits = [], np.ones(starts.shape[1], bool)
    for is_negative in (False, True) if has_signs else (None,):
        here = [
            is_negative is None or (sums < 0) == is_negative for sums in (steps.starts, steps.ends)
        ]
        least = np.where(steps.has_start & here[0], starts, -nothing).max(axis=0)
        most = np.where(steps.has_end & here[1], ends, nothing).min(axis=0)
        row = np.where(least > -nothing, least, np.where(most < nothing, most, 0))
        fits &= (least <= most) & (abs(row) <= _LARGEST[is_wide])
        rows.append(row)
    return np.stack(rows), fits
