"""Fetching weights before the loops come to them.

Weights lie in the order in which a convolution reads them. Each part is read by several tiles in
turn: the first one would wait for the outer caches or for memory, as processors look ahead by
little and not beyond a page. So every tile asks for its share of the part that comes next, step by
step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.script.ir_builder import tirx as T

_READ = 0
_TO_SECOND_LEVEL = 2
_DATA = 1


def fetch_ahead(
    weights: Any, start: Any, steps: int, size: int, turn: Any, turns: int
) -> Callable[[Any], None]:
    """Tell how each step of a loop over weights asks for those after them.

    Args:
        weights: The buffer.
        start: Where the loop begins.
        steps: Of the loop.
        size: Values that a step takes.
        turn: How often the loop has run over these weights.
        turns: How often it does in all.

    Returns:
        A function that writes the request of a step, given its number.
    """
    share = -(-size // turns)
    first = start + steps * size + turn * (steps * share)

    def fetch(step: Any) -> None:
        # Past the end of the weights it does nothing: a request is no access.
        place = T.address_of(weights[first + step * share])
        flags = [T.int32(flag) for flag in (_READ, _TO_SECOND_LEVEL, _DATA)]
        T.evaluate(T.call_llvm_intrin("void", "llvm.prefetch.p0", place, *flags))

    return fetch
