"""Elementwise functions of two tensors of bytes, which broadcast as in numpy."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, offset_of, ramp
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Index,
    Vector,
    as_unsigned,
    filled,
    first_lanes,
    flipped,
    kept,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.written import flat, new_function

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Loops:
    """The axes of a result. Neighbouring axes are merged if both operands are contiguous there.

    Attributes:
        extents: the sizes of the merged axes; at least one.
        strides: each operand's stride along each merged axis: 0 if it broadcasts.
    """

    extents: Shape
    strides: tuple[Shape, Shape]


def merged_loops(lhs: Shape, rhs: Shape) -> Loops:
    """Return the fewest loops over the result of two shapes that broadcast."""
    shape = np.broadcast_shapes(lhs, rhs)
    rows: list[Shape] = [(1, 0, 0)]
    for extent, *strides in zip(shape, _strides(lhs, shape), _strides(rhs, shape), strict=True):
        if extent == 1:
            continue
        outer, *before = rows[-1]
        if all(stride == own * extent for stride, own in zip(before, strides, strict=True)):
            rows[-1] = (outer * extent, *strides)
        else:
            rows.append((extent, *strides))
    axes = [row for row in rows if row[0] > 1] or rows
    extents, left, right = zip(*axes, strict=True)
    return Loops(extents, (left, right))


def _strides(own: Shape, shape: Shape) -> list[int]:
    own = (1,) * (len(shape) - len(own)) + own
    strides = [prod(own[axis + 1 :]) for axis in range(len(own))]
    return [0 if size == 1 else stride for size, stride in zip(own, strides, strict=True)]


def pairwise(
    isa: VectorIsa,
    name: str,
    shapes: tuple[Shape, Shape],
    dtypes: tuple[str, str, str],
    bytes_per_microsecond: int,
    combine: Callable[[Vector, Vector], Vector],
) -> tirx.PrimFunc:
    """Build the function that combines two tensors.

    Args:
        isa: the instruction set.
        name: the function's name.
        shapes: the shapes of lhs and rhs; they broadcast, and nothing is empty.
        dtypes: the dtypes of lhs, rhs and the output: int8 or uint8 each.
        bytes_per_microsecond: roughly what one thread writes.
        combine: returns the result of two vectors; all are uint8x(isa.size), and count steps from
            the lowest values of their dtypes.

    Returns:
        A function of lhs, rhs and the output.
    """
    out_shape = np.broadcast_shapes(*shapes)
    loops = merged_loops(*shapes)
    *outer, inner = loops.extents
    rows, size = prod(outer), prod(out_shape)
    with new_function(name) as builder:
        tensors = [
            T.arg(label, T.buffer(shape, dtype))
            for label, shape, dtype in zip(
                ("lhs", "rhs", "output"), (*shapes, out_shape), dtypes, strict=True
            )
        ]
        sources, target = [flat(each) for each in tensors[:2]], flat(tensors[2], "uint8")

        def operand(which: int, start: Index, offset: Index, width: int) -> Vector:
            stride = loops.strides[which][-1]
            index = ramp(start + offset, width) if stride else start
            return kept(filled(as_unsigned(sources[which][index], dtypes[which]), isa.size))

        def piece(starts: list[Index], start: Index, offset: Index, width: int) -> None:
            value = combine(*(operand(which, starts[which], offset, width) for which in (0, 1)))
            value = value if dtypes[2] == "uint8" else flipped(value)
            T.buffer_store(target, first_lanes(value, width), [ramp(start + offset, width)])

        def row(number: Index, tasks: int = 1) -> None:
            starts = [offset_of(number, outer, strides[:-1]) for strides in loops.strides]
            for_each_piece(
                inner,
                lambda offset, width: piece(starts, number * inner, offset, width),
                isa.size,
                tasks=tasks,
            )

        tasks = task_count(size / bytes_per_microsecond)
        if rows > 1:
            shared_loop(tasks, rows, row)
        else:
            row(T.int32(0), tasks)
    return builder.get()
