"""Loops over rows of bytes, a vector at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.script.ir_builder import tirx as T

BYTES = 64
"""In one AVX512 register."""


def pieces(length: int) -> tuple[int, list[tuple[int, int]]]:
    """Cut a row into whole vectors, and (offset, width) pieces for the rest.

    A rest that follows a whole vector is one vector that overlaps it.
    """
    whole, rest = divmod(length, BYTES)
    if not rest:
        return whole, []
    if whole:
        return whole, [(length - BYTES, BYTES)]
    parts = []
    offset = 0
    while offset < length:
        width = 1 << ((length - offset).bit_length() - 1)
        parts.append((offset, width))
        offset += width
    return whole, parts


def for_each_piece(length: int, body: Callable[[Any, int], None]) -> None:
    """Write the loop over a row of ``length`` bytes.

    Args:
        length: of the row.
        body: writes what is done with ``width`` bytes from an offset on; some bytes may be
            visited twice.
    """
    whole, parts = pieces(length)
    if whole:
        with T.serial(whole) as i:
            body(i * BYTES, BYTES)
    for offset, width in parts:
        body(offset, width)


def ramp(start: Any, width: int) -> Any:
    """The index of ``width`` neighbouring bytes."""
    return start if width == 1 else T.ramp(start, 1, width)


def splat(value: int, width: int) -> Any:
    """A byte, ``width`` times."""
    return T.uint8(value) if width == 1 else T.broadcast(T.uint8(value), width)


def unsigned(value: Any, width: int) -> Any:
    """The same bits as uint8."""
    return T.reinterpret("uint8" if width == 1 else f"uint8x{width}", value)
