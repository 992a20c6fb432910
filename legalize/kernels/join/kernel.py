"""Concatenation of tensors of bytes along an axis, each changed byte by byte.

With one tensor this is any function of a byte.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import prod

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.border import Border, fill_border, tell_border
from legalize.kernels.ir.places import rolled, with_addresses
from legalize.kernels.ir.rows import BYTES, for_each_piece, ramp, unsigned
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    as_unsigned,
    filled,
    first_lanes,
    flipped,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.join.byte_changes import Change, Clamp, Table, changed
from legalize.kernels.kernel import Slice
from legalize.written import flat, new_function

# Roughly what one thread copies from and to the second-level cache.
_BYTES_PER_MICROSECOND = 20_000


@dataclass(frozen=True)
class Part:
    """One of the concatenated tensors.

    Attributes:
        shape: the tensor's shape.
        dtype: int8 or uint8.
        change: the function of its values.
    """

    shape: tuple[int, ...]
    dtype: str
    change: Change

    @property
    def has_table(self) -> bool:
        """Whether its values are looked up."""
        return isinstance(self.change, Table)


@cache
def join(
    isa: VectorIsa,
    parts: tuple[Part, ...],
    axis: int,
    out_dtype: str,
    part_of: Slice | None = None,
    border: Border | None = None,
) -> tirx.PrimFunc:
    """Build the function that joins tensors.

    Args:
        isa: the instruction set.
        parts: the tensors; their shapes differ along the axis only, and nothing is empty.
        axis: not negative.
        out_dtype: int8 or uint8.
        part_of: their range along the axis of a larger tensor, if they are a part of one.
        border: written around them. Then they are NHWC and joined along the last axis, or are one
            tensor with any axis but the first.

    Returns:
        A function of the tensors; the tables of those that have one, uint8 [256]; and the output.
        A table is indexed by the bits of the value, contains the bits of the result, and is laid
        out by ``isa.packed_table``.
    """
    first = parts[0].shape
    extent = sum(part.shape[axis] for part in parts)
    where = part_of or Slice(extent, 0)
    out_shape = (*first[:axis], where.whole, *first[axis + 1 :])
    rows = prod(first[:axis])
    whole = out_shape if border is None else border.around(_images(out_shape))
    place = partial(_place, out_shape, axis, border)
    with new_function("join") as builder:
        sources = [
            T.arg(f"part_{number}", T.buffer(part.shape, part.dtype))
            for number, part in enumerate(parts)
        ]
        tables = [
            T.arg(f"table_{number}", T.buffer((256,), "uint8")) if part.has_table else None
            for number, part in enumerate(parts)
        ]
        output = T.arg("output", T.buffer(whole, out_dtype))
        target = flat(output, "uint8")
        if border is not None:
            fill_border(border, _images(out_shape), target)
        start = where.first * prod(first[axis + 1 :])
        for part, tensor, table in zip(parts, sources, tables, strict=True):
            source = flat(tensor)
            width = prod(part.shape[axis:])
            change = partial(_changed, isa, part, out_dtype, table)
            is_copy = part.change == Clamp(0, 255)
            size = max(BYTES, isa.size) if is_copy else isa.size
            copy = partial(_copy_row, target, place, start, source, width, change, size)
            tasks = task_count(rows * width / _BYTES_PER_MICROSECOND)
            with with_addresses():
                if rows == 1:
                    copy(T.int32(0), tasks)
                else:
                    shared_loop(tasks, rows, copy)
            start += width
    return tell_border(builder.get(), border)


def _images(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    batch, height, width, channels = shape
    return batch, height, width, channels


def _place(shape: tuple[int, ...], axis: int, border: Border | None, row: Index) -> Index:
    """Return the offset in the output of a row of the joined tensors."""
    if border is None:
        return row * prod(shape[axis:])
    images = _images(shape)
    top, left, _, _ = border.widths
    _, height, width, channels = border.around(images)
    x: Index = 0
    if axis == len(images) - 1:
        row, x = T.truncdiv(row, images[2]), T.truncmod(row, images[2])
    image, y = T.truncdiv(row, images[1]), T.truncmod(row, images[1])
    return ((image * height + y + top) * width + left + x) * channels


def _changed(
    isa: VectorIsa, part: Part, out_dtype: str, table: Buffer, value: Vector, lanes: int
) -> Vector:
    if part.change == Clamp(0, 255):
        value = unsigned(value, lanes)
        return value if part.dtype == out_dtype else flipped(value)
    if isinstance(part.change, Table):
        index = filled(unsigned(value, lanes), isa.size)
        return first_lanes(isa.look_up(table, index), lanes)
    value = changed(isa, part.change, filled(as_unsigned(value, part.dtype), isa.size))
    return first_lanes(value if out_dtype == "uint8" else flipped(value), lanes)


def _copy_row(
    target: Buffer,  # one row
    place: Callable[[Index], Index],
    start: int,
    source: Buffer,  # [rows · width]
    width: int,
    change: Callable[[Vector, int], Vector],
    size: int,
    row: Index,
    tasks: int = 1,
) -> None:
    # LLVM's copies of an iteration are worth their code only for narrow rows.
    row = rolled(row) if width >= size else row
    first = place(row) + start

    def body(offset: Index, count: int) -> None:
        value = change(source[ramp(row * width + offset, count)], count)
        T.buffer_store(target, value, [ramp(first + offset, count)])

    for_each_piece(width, body, size, tasks=tasks)
