"""The places of temporary tensors, and of constants, in one block of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from legalize.call_plan import Plan, Temporary

ALIGNMENT = 64
"""Bytes; what compiled functions may assume of every pointer that they get.

Code for machines with narrower vectors assumes less.
"""


@dataclass(frozen=True)
class Layout:
    """Offsets in a block of memory.

    Attributes:
        offsets: of each temporary tensor, by number; 0 for those that no call uses.
        size: of the block in bytes.
    """

    offsets: tuple[int, ...]
    size: int


def lay_out(plan: Plan, alignment: int = ALIGNMENT) -> Layout:
    """Give every temporary tensor a place that no other one uses at the same time.

    The largest are placed first, each as low as those allow that live when it does.

    Args:
        plan: has the tensors.
        alignment: of each in bytes.
    """
    lives = _lives(plan)
    offsets = [0] * len(plan.temporaries)
    placed: list[int] = []
    size = 0
    for number in sorted(lives, key=lambda number: (-plan.temporaries[number], number)):
        first, last = lives[number]
        others = [
            (offsets[other], offsets[other] + plan.temporaries[other])
            for other in placed
            if lives[other][0] <= last and first <= lives[other][1]
        ]
        offsets[number] = _lowest_gap(plan.temporaries[number], sorted(others), alignment)
        size = max(size, offsets[number] + plan.temporaries[number])
        placed.append(number)
    return Layout(tuple(offsets), _aligned(size, alignment))


def pack(
    constants: Sequence[np.ndarray[Any, Any]], alignment: int = ALIGNMENT
) -> tuple[bytes, tuple[int, ...]]:
    """Lay constants one after the other, each at an aligned offset; return the offsets, too."""
    parts: list[bytes] = []
    offsets = []
    end = 0
    for array in constants:
        data = np.asarray(array, order="C").tobytes()
        offsets.append(end)
        parts.append(data.ljust(_aligned(len(data), alignment), b"\0"))
        end += len(parts[-1])
    return b"".join(parts), tuple(offsets)


def _lives(plan: Plan) -> dict[int, tuple[int, int]]:
    """Return the numbers of the first and the last call that use each temporary tensor."""
    lives: dict[int, tuple[int, int]] = {}
    for step, call in enumerate(plan.calls):
        for place in call.arguments:
            if isinstance(place, Temporary):
                first, _ = lives.get(place.number, (step, step))
                lives[place.number] = (first, step)
    return lives


def _lowest_gap(size: int, taken: Sequence[tuple[int, int]], alignment: int) -> int:
    offset = 0
    for start, end in taken:
        if offset + size <= start:
            break
        offset = max(offset, _aligned(end, alignment))
    return offset


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
