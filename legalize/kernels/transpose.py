"""The transposition of bytes.

If neighbours stay neighbours, runs of bytes are copied. Otherwise squares of 16 × 16 bytes are
transposed in registers; the last square of a row or a column overlaps the one before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import columns_of, copy, merged
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import Index, kept, unsigned_min
from legalize.written import arguments, new_function

SIDE = 16
"""The rows and columns of a square."""

# Roughly what one thread moves.
_BYTES_PER_MICROSECOND = 8_000


@dataclass(frozen=True)
class Axis:
    """An axis of a result.

    Attributes:
        extent: its size.
        source: its stride in the data.
        target: its stride in the result.
    """

    extent: int
    source: int
    target: int


def merged_axes(shape: tuple[int, ...], order: tuple[int, ...]) -> list[Axis]:
    """Return the axes of a result in order. Axes that are adjacent in the data, too, are merged.

    Args:
        shape: the data's shape.
        order: for each axis of the result, the axis of the data.
    """
    extents = [shape[axis] for axis in order]
    sources = [prod(shape[axis + 1 :]) for axis in order]
    targets = [prod(extents[place + 1 :]) for place in range(len(extents))]
    return [Axis(*loop) for loop in merged(extents, sources, targets)]


@cache
def transpose(
    size: int, shape: tuple[int, ...], order: tuple[int, ...], dtype: str
) -> tirx.PrimFunc:
    """Build the function that changes the order of axes.

    Args:
        size: bytes in a register.
        shape: the data's shape.
        order: for each axis of the result, the axis of the data; ``is_served``.
        dtype: int8 or uint8.

    Returns:
        A function of the data and the result.
    """
    axes = merged_axes(shape, order)
    with new_function("transpose") as builder:
        result = tuple(shape[axis] for axis in order)
        source, target = arguments(data=(shape, dtype), output=(result, dtype))
        last = axes[-1]

        def run(start: Index, place: Index) -> None:
            copy(target, place, source, start, last.extent, size)

        def square(start: Index, place: Index) -> None:
            rows = [kept(source[T.ramp(start + i * last.source, 1, SIDE)]) for i in range(SIDE)]
            for i, row in enumerate(columns_of(rows)):
                T.buffer_store(target, row, [T.ramp(place + i * along.target, 1, SIDE)])

        def squares(start: Index, place: Index) -> None:
            with T.serial(-(-along.extent // SIDE)) as y, T.serial(-(-last.extent // SIDE)) as x:
                row = unsigned_min(y * SIDE, along.extent - SIDE)
                column = unsigned_min(x * SIDE, last.extent - SIDE)
                square(start + row + column * last.source, place + row * along.target + column)

        if last.source == 1:
            _loops(axes[:-1], prod(shape), run)
        else:
            (along,) = (axis for axis in axes if axis.source == 1)
            _loops([axis for axis in axes if axis not in (along, last)], prod(shape), squares)
    return builder.get()


def is_served(shape: tuple[int, ...], order: tuple[int, ...]) -> bool:
    """Tell whether the kernel serves this order: runs, or squares, must not be too small."""
    if 0 in shape:
        return False
    axes = merged_axes(shape, order)
    ends = [axis for axis in axes if axis.source == 1 or axis.target == 1]
    return len(axes) > 1 and all(axis.extent >= SIDE for axis in ends)


def _loops(axes: list[Axis], size: int, body: Callable[[Index, Index], None]) -> None:
    """Write loops over some axes; threads share the iterations of the first."""

    def inner(left: list[Axis], start: Index, place: Index) -> None:
        if not left:
            body(start, place)
            return
        with T.serial(left[0].extent) as i:
            inner(left[1:], start + i * left[0].source, place + i * left[0].target)

    if not axes:
        body(T.int32(0), T.int32(0))
        return
    first, *rest = axes
    shared_loop(
        task_count(size / _BYTES_PER_MICROSECOND),
        first.extent,
        lambda i: inner(rest, i * first.source, i * first.target),
    )
