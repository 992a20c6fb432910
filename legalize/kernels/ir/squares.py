"""Squares whose rows are vectors."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Vector


def columns_of(rows: list[Vector]) -> list[Vector]:
    """Transpose n vectors of n lanes, a power of two.

    Each step interleaves those that lie n / 2 apart.
    """
    side = len(rows)
    half = side // 2
    for _ in range(half.bit_length()):
        rows = [
            kept(T.Shuffle([rows[i], rows[i + half]], _interleaved(part * half, side)))
            for i in range(half)
            for part in (0, 1)
        ]
    return rows


def _interleaved(first: int, side: int) -> list[int]:
    return [place for i in range(first, first + side // 2) for place in (i, i + side)]
