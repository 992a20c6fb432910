"""What code reads and writes of a function's parameters, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tvm_qnn.standalone.spans import Array

Pair = tuple[int, int]
"""The numbers of two parameters: one that is read, and one that is written."""

_FAR = 1 << 48  # beyond any address: of what is not accessed


@dataclass(frozen=True)
class Uses:
    """What a piece of code does to the parameters, by their numbers, in each turn around it.

    Attributes:
        reads: the first byte that is read of each.
        writes: the end of the bytes that are written of each.
        gaps: of each pair, the most by which such an end lies behind a byte that is read later.
    """

    reads: Mapping[int, Array] = field(default_factory=dict)
    writes: Mapping[int, Array] = field(default_factory=dict)
    gaps: Mapping[Pair, Array] = field(default_factory=dict)

    def gap(self, source: int, target: int) -> Array:
        """Return the gap of a pair, far below 0 if there is none."""
        return self.gaps.get((source, target), np.array([-_FAR]))

    def then(self, later: Uses) -> Uses:
        """Return the uses of this and of what comes after it."""
        gaps = _merged(np.maximum, self.gaps, later.gaps)
        crossed = {
            (source, target): end - start
            for target, end in self.writes.items()
            for source, start in later.reads.items()
        }
        return Uses(
            _merged(np.minimum, self.reads, later.reads),
            _merged(np.maximum, self.writes, later.writes),
            _merged(np.maximum, gaps, crossed),
        )

    def where(self, active: Any) -> Uses:
        """Return the uses of code that does not run in all turns."""
        return Uses(
            {key: np.where(active, start, _FAR) for key, start in self.reads.items()},
            {key: np.where(active, end, -_FAR) for key, end in self.writes.items()},
            {key: np.where(active, gap, -_FAR) for key, gap in self.gaps.items()},
        )

    def repeated(self, outer: int, turns: int) -> Uses:
        """Return the uses of a whole loop, of which these are the turns, in each turn around it."""

        def by_turn(values: Array) -> Array:
            return np.broadcast_to(values, outer * turns).reshape(outer, turns)

        gaps = {key: by_turn(gap).max(axis=1) for key, gap in self.gaps.items()}
        crossed = {}
        for target, end in self.writes.items():
            ends = np.maximum.accumulate(by_turn(end), axis=1)[:, :-1]
            for source, start in self.reads.items() if turns > 1 else ():
                crossed[source, target] = (ends - by_turn(start)[:, 1:]).max(axis=1)
        return Uses(
            {key: by_turn(start).min(axis=1) for key, start in self.reads.items()},
            {key: by_turn(end).max(axis=1) for key, end in self.writes.items()},
            _merged(np.maximum, gaps, crossed),
        )

    def in_any_order(self) -> Uses:
        """Return the uses of a loop whose turns are not followed: these are of all together."""
        return self.then(self)


def _merged(
    choose: Callable[[Array, Array], Array], first: Mapping[Any, Array], second: Mapping[Any, Array]
) -> dict[Any, Array]:
    merged = {**first, **second}
    merged.update({key: choose(first[key], second[key]) for key in first.keys() & second.keys()})
    return merged
