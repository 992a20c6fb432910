"""Copies of a convolution's data for the kernel: padded, and of the dtype that it multiplies."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from math import prod
from typing import NamedTuple

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import with_code
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.places import rolled, with_addresses
from legalize.kernels.ir.rows import for_each_piece, ramp, unsigned
from legalize.kernels.ir.tables import Tables
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import Buffer, Index, flipped, kept, splat, spread, vector_of
from legalize.written import new_function
from qnn_ops.dialect.sizes import Size, as_extent, is_open, least

# Roughly what one thread copies from and to the second-level cache.
_BYTES_PER_MICROSECOND = 20_000
# The values that a shared function copies at a time. They divide the channels of all its data.
_PIECE = 16

Body = Callable[[Index, int], None]
"""Writes the code for some values from an offset."""

_SHARED: dict[Hashable, tirx.PrimFunc] = {}  # by form


class Sizes(NamedTuple):
    """Sizes that the code may read. It still knows whether there are several tasks.

    Attributes:
        batch: images.
        in_height: rows of an image before staging.
        in_row: values of such a row.
        height: rows of a staged image.
        row: values of a staged row.
        top: rows of padding above an image.
        left: values of padding before a row.
        right: values of padding after it.
        tasks: tasks that share the rows of all images.
        zero_point: the value of the padding.
    """

    batch: Index
    in_height: Index
    in_row: Index
    height: Index
    row: Index
    top: Index
    left: Index
    right: Index
    tasks: Index
    zero_point: Index

    @classmethod
    def known(cls, spec: ConvSpec) -> Sizes:
        """Return the sizes of a convolution's data."""
        batch, height, width, channels = spec.staged_shape
        top, left, _, right = spec.padding
        return cls(
            batch=batch,
            in_height=spec.in_height,
            in_row=spec.in_width * spec.in_channels,
            height=height,
            row=width * channels,
            top=top,
            left=left * channels,
            right=right * channels,
            tasks=task_count(least(prod(spec.staged_shape)) / _BYTES_PER_MICROSECOND),
            zero_point=spec.staged_zero_point,
        )


def can_share(spec: ConvSpec) -> bool:
    """Tell whether a shared function can stage the data of a convolution."""
    return spec.in_channels % _PIECE == 0 and not is_open([spec.batch])


def stage(spec: ConvSpec, *, is_shared: bool = False) -> tirx.PrimFunc:
    """Build the function that stages the data of a convolution.

    It adds the padding, filled with the zero point. It turns int8 into uint8 by adding 128, or
    uint8 into int8, or widens either to int16. If a pixel has too few channels for a K-step, it
    adds channels that hold the zero point.

    Args:
        spec: the convolution.
        is_shared: whether the function may serve data of other sizes, too; see ``can_share``.

    Returns:
        A function of the data, ``spec.in_dtype`` of ``spec.in_shape``; if it is shared, ``Sizes``
        as int32 [10]; and the output, ``spec.staged_dtype`` of ``spec.staged_shape``.
    """
    if is_open([spec.batch]):
        spec = replace(spec, batch=Size(tirx.Var("rows", "int64")))  # type: ignore[arg-type]
    if not is_shared:
        return _written(spec, is_shared=False)
    form = spec.in_dtype, spec.staged_dtype, Sizes.known(spec).tasks == 1
    if form not in _SHARED:
        _SHARED[form] = with_code(_written(spec, is_shared=True))
    return _SHARED[form]


def _written(spec: ConvSpec, *, is_shared: bool) -> tirx.PrimFunc:
    sizes, tables = Sizes.known(spec), Tables()
    has_tasks, channels = sizes.tasks != 1, spec.staged_channels
    zero_point = splat(spec.staged_dtype, sizes.zero_point, 1)
    each_piece: Callable[[Index, Body], None] = partial(for_each_piece, is_rolled=True)
    with new_function("stage") as builder:
        data = tables.parameter("data", spec.in_shape, spec.in_dtype, is_any=is_shared)
        if is_shared:
            table = tables.parameter("sizes", (len(sizes),), "int32")
        staged = tables.parameter("staged", spec.staged_shape, spec.staged_dtype, is_any=is_shared)
        tables.flatten()
        if is_shared:
            sizes = Sizes(*table.numbers(len(sizes)))
            zero_point = kept(T.Cast(spec.staged_dtype, sizes.zero_point))
            each_piece = _each_whole_piece
        source, target, row = data.row, staged.row, sizes.row

        def pad(start: Index, length: Index) -> None:
            def body(offset: Index, width: int) -> None:
                T.buffer_store(target, spread(zero_point, width), [ramp(start + offset, width)])

            each_piece(length, body)

        copy = partial(_copy, each_piece, target, source)

        with with_addresses():
            with T.serial(as_extent(sizes.batch)) as n:
                image, last = n * sizes.height * row, sizes.top + sizes.in_height
                pad(image, sizes.top * row)
                pad(image + last * row, (sizes.height - last) * row)

            def copy_row(number: Index) -> None:
                n, y = T.truncdiv(number, sizes.in_height), T.truncmod(number, sizes.in_height)
                start = (n * sizes.height + y + sizes.top) * row
                pad(start, sizes.left)
                middle = start + sizes.left
                origin = number * sizes.in_row
                if channels == spec.in_channels:
                    copy(middle, origin, sizes.in_row)
                else:
                    with T.serial(rolled(spec.in_width)) as x:
                        pixel = middle + x * channels
                        copy(pixel, origin + x * spec.in_channels, spec.in_channels)
                        pad(pixel + spec.in_channels, channels - spec.in_channels)
                pad(middle + (row - sizes.left - sizes.right), sizes.right)

            tasks = sizes.tasks if has_tasks else 1
            shared_loop(tasks, as_extent(sizes.batch * sizes.in_height), copy_row)
    return builder.get()


def _each_whole_piece(length: Index, body: Body) -> None:
    with T.serial(T.truncdiv(length, _PIECE)) as number:
        body(number * _PIECE, _PIECE)


def _copy(
    each_piece: Callable[[Index, Body], None],
    target: Buffer,
    source: Buffer,
    start: Index,
    origin: Index,
    length: Index,
) -> None:
    def body(offset: Index, width: int) -> None:
        value = source[ramp(origin + offset, width)]
        if target.dtype == "int16":
            value = T.Cast(vector_of("int16", width), value)
        elif source.dtype != target.dtype:
            value = flipped(unsigned(value, width))
            value = T.reinterpret(vector_of(str(target.dtype), width), value)
        T.buffer_store(target, value, [ramp(start + offset, width)])

    each_piece(length, body)
