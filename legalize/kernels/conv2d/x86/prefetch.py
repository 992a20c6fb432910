"""Prefetches of weights.

Weights lie in the order in which a convolution reads them. Several tiles in succession read each
part. The first tile would wait for the outer caches or for memory, as processors look ahead only a
little and not beyond a page. So every tile prefetches its share of the next part, step by step.
"""

from collections.abc import Callable

from tvm import DataType
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Expr, Index, fetch, kept

_LINE_BYTES = 64


def share_of(size: int, steps: int, turns: int) -> int:
    """Return how many values a step fetches.

    Args:
        size: values of the next part.
        steps: steps of the loop.
        turns: how often the loop runs over a part.
    """
    return -(-size // (steps * turns))


def lines_of(share: int, dtype: str) -> int:
    """Return how many cache lines hold a step's share of weights of a dtype."""
    return -(-share // _line_of(dtype))


def _line_of(dtype: str) -> int:
    return _LINE_BYTES // (DataType(dtype).bits // 8)


def fetch_ahead(
    weights: Buffer, end: Index, share: Index, lines: Index, steps: Index, turn: Index
) -> Callable[[Index], None]:
    """Prefetch some of the next part of the weights in each step of a loop over a part.

    Args:
        weights: the buffer.
        end: the offset at which the part ends and the next one begins.
        share: from ``share_of``: values that a step fetches.
        lines: from ``lines_of``; a loop fetches them if it is not an int.
        steps: steps of the loop.
        turn: how often the loop has already run over this part.

    Returns:
        A function that writes the prefetches of a step, given its number.
    """
    first = kept(end + turn * (steps * share))
    line = _line_of(weights.dtype)

    def of_step(step: Index) -> None:
        begin = first + step * share
        if isinstance(lines, int):
            for number in range(lines):
                fetch(weights, begin + number * line, level=2)
            return
        with T.serial(lines) as number:
            fetch(weights, begin + number * line, level=2)

    return of_step


def fetch_also(
    own: Callable[[Index], None], others: Callable[[Index], None], condition: Expr
) -> Callable[[Index], None]:
    """Return a writer of a step's prefetches: of ``own``, and on a condition of ``others``."""

    def of_step(step: Index) -> None:
        own(step)
        with T.If(condition), T.Then():
            others(step)

    return of_step
