"""Copies of a convolution's data for the kernel: padded, and of the dtype that it multiplies."""

from dataclasses import replace
from math import prod

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.places import rolled, with_addresses
from legalize.kernels.ir.rows import fill, for_each_piece, ramp, unsigned
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import Buffer, Index, flipped, vector_of
from legalize.written import arguments, new_function
from qnn_ops.dialect.sizes import Size, as_extent, is_open, least

# Roughly what one thread copies from and to the second-level cache.
_BYTES_PER_MICROSECOND = 20_000


def stage(spec: ConvSpec) -> tirx.PrimFunc:
    """Build the function that stages the data of a convolution.

    It adds the padding, filled with the zero point. It turns int8 into uint8 by adding 128, or
    uint8 into int8, or widens either to int16. If a pixel has too few channels for a K-step, it
    adds channels that hold the zero point.

    Returns:
        A function of the data, ``spec.in_dtype`` of ``spec.in_shape``, and the output,
        ``spec.staged_dtype`` of ``spec.staged_shape``.
    """
    if is_open([spec.batch]):
        spec = replace(spec, batch=Size(tirx.Var("rows", "int64")))  # type: ignore[arg-type]
    batch, height, width, channels = spec.staged_shape
    top, left, bottom, right = spec.padding
    row, in_row = width * channels, spec.in_width * spec.in_channels
    with new_function("stage") as builder:
        staged = spec.staged_shape, spec.staged_dtype
        source, target = arguments(data=(spec.in_shape, spec.in_dtype), staged=staged)

        def pad(start: Index, length: int) -> None:
            fill(target, start, length, spec.staged_zero_point, is_rolled=True)

        with with_addresses():
            with T.serial(as_extent(batch)) as n:
                image = n * height * row
                pad(image, top * row)
                below = image + (top + spec.in_height) * row
                pad(below, bottom * row)

            def copy_row(number: Index) -> None:
                n, y = T.truncdiv(number, spec.in_height), T.truncmod(number, spec.in_height)
                start = (n * height + y + top) * row
                pad(start, left * channels)
                middle = start + left * channels
                origin = number * in_row
                if channels == spec.in_channels:
                    _copy(target, middle, source, origin, in_row)
                else:
                    with T.serial(rolled(spec.in_width)) as x:
                        pixel = middle + x * channels
                        _copy(
                            target, pixel, source, origin + x * spec.in_channels, spec.in_channels
                        )
                        rest = channels - spec.in_channels
                        pad(pixel + spec.in_channels, rest)
                end = middle + spec.in_width * channels
                pad(end, right * channels)

            tasks = task_count(least(prod(spec.staged_shape)) / _BYTES_PER_MICROSECOND)
            shared_loop(tasks, as_extent(batch * spec.in_height), copy_row)
    return builder.get()


def _copy(target: Buffer, start: Index, source: Buffer, origin: Index, length: int) -> None:
    def body(offset: Index, width: int) -> None:
        value = source[ramp(origin + offset, width)]
        if target.dtype == "int16":
            value = T.Cast(vector_of("int16", width), value)
        elif source.dtype != target.dtype:
            value = flipped(unsigned(value, width))
            value = T.reinterpret(vector_of(str(target.dtype), width), value)
        T.buffer_store(target, value, [ramp(start + offset, width)])

    for_each_piece(length, body, is_rolled=True)
