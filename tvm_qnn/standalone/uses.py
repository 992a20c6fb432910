"""The order in which code reads and writes a function's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tvm_qnn.standalone.spans import Array

Pair = tuple[int, int]
"""The indices of two parameters: one that is read, and one that is written."""

_FAR = 1 << 48  # beyond any address: it stands for no access


@dataclass(frozen=True)
class Uses:
    """The reads and writes of parameters by a piece of code, in each iteration around it.

    Attributes:
        reads: the first byte that is read of each parameter, by its index.
        writes: the end of the bytes that are written of each.
        gaps: for each pair, how far such an end lies behind a byte that is read later, at most.
    """

    reads: Mapping[int, Array] = field(default_factory=dict)
    writes: Mapping[int, Array] = field(default_factory=dict)
    gaps: Mapping[Pair, Array] = field(default_factory=dict)

    def gap(self, source: int, target: int) -> Array:
        """Return the gap of a pair, far below 0 if there is none."""
        return self.gaps.get((source, target), np.array([-_FAR]))

    def then(self, later: Uses) -> Uses:
        """Return the uses of this code and of the code after it."""
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
        """Return the uses of this code if it does not run in all iterations."""
        return Uses(
            {key: np.where(active, start, _FAR) for key, start in self.reads.items()},
            {key: np.where(active, end, -_FAR) for key, end in self.writes.items()},
            {key: np.where(active, gap, -_FAR) for key, gap in self.gaps.items()},
        )

    def repeated(self, outer: int, turns: int) -> Uses:
        """Return a loop's uses in each iteration around it, from its iterations' uses."""

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
        """Return the uses of a loop from those of all its iterations together, in any order."""
        return self.then(self)


def _merged(
    choose: Callable[[Array, Array], Array], first: Mapping[Any, Array], second: Mapping[Any, Array]
) -> dict[Any, Array]:
    merged = {**first, **second}
    merged.update({key: choose(first[key], second[key]) for key in first.keys() & second.keys()})
    return merged
