"""Rows of floats, summed in lanes, which become vector code."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

_LANES = (64, 32, 16, 8, 4)


def lanes_of(count: int, most: int = _LANES[0]) -> tuple[int, int]:
    """Return the shape in which a row of so many elements has lanes: (turns, lanes)."""
    lanes = next((size for size in _LANES if size <= most and count % size == 0), 1)
    return count // lanes, lanes


def sum_of_lanes(builder: relax.BlockBuilder, rows: relax.Expr) -> relax.Expr:
    """Sum rows of the shape [..., turns, lanes] to [..., 1, 1]: lane by lane, then the lanes."""
    lanes = builder.emit(R.sum(rows, -2, keepdims=True))
    return builder.emit(R.sum(lanes, -1, keepdims=True))


def max_of_lanes(builder: relax.BlockBuilder, rows: relax.Expr) -> relax.Expr:
    """Return the largest element of each row likewise."""
    lanes = builder.emit(R.max(rows, -2, keepdims=True))
    return builder.emit(R.max(lanes, -1, keepdims=True))
