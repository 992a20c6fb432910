"""Elementwise functions of two tensors of bytes, which broadcast as in numpy."""

from collections.abc import Hashable
from functools import cache
from math import prod
from typing import Protocol

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, merged, offset_of, ramp
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Index,
    Vector,
    as_unsigned,
    clamped,
    filled,
    first_lanes,
    flipped,
    kept,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.written import flat, new_function

Shape = tuple[int, ...]


class Form(Hashable, Protocol):
    """The arithmetic of a function."""

    def quarters(self, isa: VectorIsa, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return the results of two vectors, int32, in the order of ``isa.narrow_all``.

        All count steps from the lowest values of their dtypes.
        """


def _strides(own: Shape, shape: Shape) -> list[int]:
    own = (1,) * (len(shape) - len(own)) + own
    strides = [prod(own[axis + 1 :]) for axis in range(len(own))]
    return [0 if size == 1 else stride for size, stride in zip(own, strides, strict=True)]


@cache
def pairwise(
    isa: VectorIsa,
    name: str,
    shapes: tuple[Shape, Shape],
    form: Form,
    dtypes: tuple[str, str, str],
    bounds: tuple[int, int],
    bytes_per_microsecond: int,
) -> tirx.PrimFunc:
    """Build the function that combines two tensors.

    Args:
        isa: the instruction set.
        name: the function's name.
        shapes: the shapes of lhs and rhs; they broadcast, and nothing is empty.
        form: the arithmetic.
        dtypes: the dtypes of lhs, rhs and the output: int8 or uint8 each.
        bounds: the lowest and highest output, as steps from the dtype's lowest value.
        bytes_per_microsecond: roughly what one thread writes.

    Returns:
        A function of lhs, rhs and the output.
    """
    out_shape = np.broadcast_shapes(*shapes)
    axes = merged(out_shape, *(_strides(shape, out_shape) for shape in shapes)) or [(1, 0, 0)]
    (*outer, inner), *strides = zip(*axes, strict=True)
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
            index = ramp(start + offset, width) if strides[which][-1] else start
            return kept(filled(as_unsigned(sources[which][index], dtypes[which]), isa.size))

        def piece(starts: list[Index], start: Index, offset: Index, width: int) -> None:
            lhs, rhs = (operand(which, starts[which], offset, width) for which in (0, 1))
            value = clamped(isa.narrow_all(form.quarters(isa, lhs, rhs)), *bounds)
            value = value if dtypes[2] == "uint8" else flipped(value)
            T.buffer_store(target, first_lanes(value, width), [ramp(start + offset, width)])

        def row(number: Index, tasks: int = 1) -> None:
            starts = [offset_of(number, outer, each[:-1]) for each in strides]
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
