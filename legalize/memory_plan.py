"""The offsets of temporary tensors, and of constants, in one block of memory."""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations
from typing import Any, TypeAlias

import numpy as np

from legalize.call_plan import Plan, Temporary

ALIGNMENT = 64
"""The alignment in bytes that compiled functions may assume for all their pointers.

Code for machines with narrower vectors assumes less.
"""


@dataclass(frozen=True)
class Layout:
    """Offsets in a block of memory.

    Attributes:
        offsets: the offset of each temporary tensor, by number; 0 for tensors that no call uses.
        size: the size of the block in bytes.
    """

    offsets: tuple[int, ...]
    size: int


Leads: TypeAlias = "Mapping[str, Mapping[tuple[int, int], int]]"
"""By how many bytes a function's output must begin before an input, so that they may overlap.

The keys are the function's name, and the numbers of the input's and the output's arguments. If the
number is negative, the output may begin that many bytes after the input.
"""

# The number of orders that are tried if tensors may overlap.
_TRIES = 300


def lay_out(plan: Plan, alignment: int = ALIGNMENT) -> Layout:
    """Give every temporary tensor memory that no other tensor uses at the same time.

    The largest are placed first, each as low as the tensors alive at the same time allow.

    Args:
        plan: contains the tensors.
        alignment: the alignment of each tensor in bytes.
    """
    lives = lives_of(plan)
    return _Places(plan, alignment, lives, {}).of(_by_size(plan, lives))


def lay_out_over(
    plan: Plan,
    alignment: int,
    leads: Leads,
    *,
    given: Collection[int] = (),
    wanted: Collection[int] = (),
) -> Layout:
    """Give every temporary tensor memory, if possible over an input that its call reads last.

    Several orders of placement are tried, and the one that needs the least memory is taken.

    Args:
        plan: contains the tensors.
        alignment: the alignment of each tensor in bytes.
        leads: tell where outputs may overlap inputs.
        given: tensors that live before the first call.
        wanted: tensors that live after the last call.
    """
    lives = lives_of(plan)
    for number in given:
        lives[number] = (0, lives.get(number, (0, 0))[1])
    for number in wanted:
        lives[number] = (lives[number][0], len(plan.calls))
    places = _Places(plan, alignment, lives, _overlaps(plan, lives, leads))
    # The tensor written last is placed first, and the tensors that it may overlap after it.
    backwards = sorted(lives, key=lambda number: lives[number], reverse=True)
    best, order = min(
        ((places.of(order), order) for order in (backwards, _by_size(plan, lives))),
        key=lambda pair: pair[0].size,
    )
    rng, least = random.Random(0), places.least
    for _ in range(_TRIES):
        if best.size <= least:
            break
        ends = (best.offsets[number] + plan.temporaries[number] for number in order)
        top = [i for i, end in enumerate(ends) if _aligned(end, alignment) == best.size]
        moved = rng.choice(top)
        changed = [*order[:moved], *order[moved + 1 :]]
        changed.insert(rng.randrange(moved + 1), order[moved])
        layout = places.of(changed)
        if layout.size <= best.size:
            best, order = layout, changed
    return best


def _by_size(plan: Plan, lives: Mapping[int, tuple[int, int]]) -> list[int]:
    return sorted(lives, key=lambda number: (-plan.temporaries[number], number))


@dataclass(frozen=True)
class _Use:
    """A use of a tensor, or of a part of it, by a call.

    Attributes:
        step: the number of the call.
        argument: the number of the argument.
        start: the first byte of the tensor that may be used.
        end: the end of these bytes.
    """

    step: int
    argument: int
    start: int
    end: int


def _uses_of(plan: Plan) -> dict[int, list[_Use]]:
    uses: dict[int, list[_Use]] = {}
    for step, call in enumerate(plan.calls):
        for i, place in enumerate(call.arguments):
            if isinstance(place, Temporary):
                home, start = plan.home(place.number)
                use = _Use(step, i, start, start + plan.temporaries[place.number])
                uses.setdefault(home, []).append(use)
    return uses


def _overlaps(
    plan: Plan, lives: Mapping[int, tuple[int, int]], leads: Leads
) -> dict[tuple[int, int], int]:
    """Return the leads of pairs of tensors, one complete before the other begins."""
    uses, overlaps = _uses_of(plan), {}
    for source, target in permutations(uses, 2):
        begin, end = lives[target][0], lives[source][1]
        if not lives[source][0] <= begin <= end:
            continue
        if begin != uses[target][0].step or end != uses[source][-1].step:
            continue  # a given or a wanted tensor
        reads = [use for use in uses[source] if use.step >= begin]
        others = [use for use in uses[target] if use.step <= end]
        lead = _lead(plan, leads, reads, others)
        if lead is not None:
            overlaps[source, target] = lead
    return overlaps


def _lead(plan: Plan, leads: Leads, reads: Sequence[_Use], others: Sequence[_Use]) -> int | None:
    """Return the lead of a tensor over another that is only read; None if there is none.

    Args:
        plan: contains the calls.
        leads: the leads of the calls' functions.
        reads: the uses of the other tensor since the first one is alive.
        others: the uses of the first tensor while the other one is alive.
    """

    def known(use: _Use) -> Mapping[tuple[int, int], int]:
        return leads.get(plan.calls[use.step].function or "", {})

    if any(use.argument not in {source for source, _ in known(use)} for use in reads):
        return None
    bounds = []
    for written in others:
        pairs = known(written)
        if written.argument in {source for source, _ in pairs}:
            continue
        if written.argument not in {target for _, target in pairs}:
            return None
        for read in reads:
            if read.step > written.step:
                bounds.append(written.end - read.start)
            elif read.step == written.step:
                lead = pairs.get((read.argument, written.argument))
                if lead is None:
                    return None
                bounds.append(lead + written.start - read.start)
    return max(bounds, default=None)


@dataclass(frozen=True)
class _Places:
    """Finds memory for tensors, one after the other.

    Attributes:
        plan: contains the tensors.
        alignment: the alignment of each tensor in bytes.
        lives: the first and the last call of each tensor.
        overlaps: the leads of pairs that may overlap, the earlier tensor first.
    """

    plan: Plan
    alignment: int
    lives: Mapping[int, tuple[int, int]]
    overlaps: Mapping[tuple[int, int], int]

    @property
    def least(self) -> int:
        """A lower bound of the size of any layout in bytes."""
        sizes, lives = self.plan.temporaries, self.lives
        bounds = [0]
        for step in range(len(self.plan.calls)):
            living = [number for number, life in lives.items() if life[0] <= step <= life[1]]
            shared = [
                min(sizes[source], sizes[target])
                for source, target in self.overlaps
                if lives[target][0] <= step <= min(lives[source][1], lives[target][1])
            ]
            bounds.append(sum(sizes[number] for number in living) - sum(shared))
        return _aligned(max(bounds), self.alignment)

    def of(self, order: Sequence[int]) -> Layout:
        """Return a layout: each tensor as low as the tensors placed before it allow."""
        sizes = self.plan.temporaries
        offsets = [0] * len(sizes)
        placed: list[int] = []
        size = 0
        for number in order:
            offset = 0
            for start, end in sorted(self._taken(number, placed, offsets)):
                if offset <= start:
                    break
                offset = max(offset, _aligned(end, self.alignment))
            offsets[number] = offset
            size = max(size, offset + sizes[number])
            placed.append(number)
        for number, (home, start) in self.plan.parts.items():
            offsets[number] = offsets[home] + start
        return Layout(tuple(offsets), _aligned(size, self.alignment))

    def _taken(
        self, number: int, placed: Sequence[int], offsets: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Yield the ranges of offsets that a tensor cannot have; both bounds are exclusive."""
        sizes, (first, last) = self.plan.temporaries, self.lives[number]
        size = sizes[number]
        for other in placed:
            if self.lives[other][0] > last or first > self.lives[other][1]:
                continue
            start, end = offsets[other] - size, offsets[other] + sizes[other]
            if (lead := self.overlaps.get((other, number))) is not None:
                start = max(start, offsets[other] - lead)
            if (lead := self.overlaps.get((number, other))) is not None:
                end = min(end, offsets[other] + lead)
            if start < end:
                yield start, end


def pack(
    constants: Iterable[np.ndarray[Any, Any]], alignment: int = ALIGNMENT, spare: int = 0
) -> tuple[np.ndarray[Any, Any], tuple[int, ...]]:
    """Return a block of bytes with constants at aligned offsets, and the offsets.

    Args:
        constants: contiguous arrays.
        alignment: the multiple of bytes at which each one begins.
        spare: the number of zeros at the block's end.
    """
    constants = list(constants)
    sizes = (_aligned(array.nbytes, alignment) for array in constants)
    *offsets, end = accumulate(sizes, initial=0)
    # TVM takes an aligned block without a copy.
    memory = np.zeros(end + spare + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    block = memory[start : start + end + spare]
    for array, offset in zip(constants, offsets, strict=True):
        block[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)
    return block, tuple(offsets)


def lives_of(plan: Plan) -> dict[int, tuple[int, int]]:
    """Return the numbers of the first and the last call that use each temporary tensor.

    A tensor inside another one lives as long as that one, and is left out.
    """
    lives: dict[int, tuple[int, int]] = {}
    for step, call in enumerate(plan.calls):
        for place in call.arguments:
            if isinstance(place, Temporary):
                home, _ = plan.home(place.number)
                first, _ = lives.get(home, (step, step))
                lives[home] = (first, step)
    return lives


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
