"""Resizing of NHWC images of bytes, a vector of a pixel's channels at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.ir.arithmetic import rounded_apart
from legalize.kernels.ir.rows import copy, for_each_piece, ramp
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import Index, Vector, lanes_in, splat, spread, vector_of
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.written import flat, new_function
from qnn_ops import quantized_resize2d
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import Attrs, as_const, spec_of
from qnn_ops.quantized.resize2d import FRACTION_BITS, Taps, pixels_of, taps_of

# Roughly what one thread makes.
_NEAREST_PER_MICROSECOND = 10_000
_BILINEAR_PER_MICROSECOND = 1_000
_ONE = 1 << FRACTION_BITS


@dataclass(frozen=True)
class ResizeSpec:
    """One resize.

    Attributes:
        in_shape: [N, H, W, C].
        out_shape: [N, H, W, C].
        dtype: int8 or uint8.
        keeps_rows: whether rows are copied without a change of columns.
    """

    in_shape: tuple[int, int, int, int]
    out_shape: tuple[int, int, int, int]
    dtype: str
    keeps_rows: bool = False


@cache
def nearest(spec: ResizeSpec) -> tirx.PrimFunc:
    """Build the function that repeats and drops pixels.

    Returns:
        A function of the data; the source rows, int32 [out height]; the source columns, int32
        [out width]; and the output.
    """
    _, height, width, channels = spec.in_shape
    _, out_height, out_width, _ = spec.out_shape
    with new_function("nearest") as builder:
        source, target, (rows, columns) = _arguments(
            spec, [("rows", (out_height,), "int32"), ("columns", (out_width,), "int32")]
        )

        def row(image: Index, y: Index, number: Index) -> None:
            line = (image * height + rows[y]) * (width * channels)
            place = number * (out_width * channels)
            if spec.keeps_rows:
                copy(target, place, source, line, out_width * channels)
                return
            with T.serial(out_width) as x:
                first = line + columns[x] * channels
                copy(target, place + x * channels, source, first, channels)

        _each_row(spec, _NEAREST_PER_MICROSECOND, row)
    return builder.get()


@cache
def bilinear(isa: VectorIsa, spec: ResizeSpec) -> tirx.PrimFunc:
    """Build the function that interpolates: uint8 in float32, int8 in integers.

    Returns:
        A function of the data; for output rows and for output columns the two source rows or
        columns, int32 [2, size], and the weights, [2, size] each, float32 or int32; and the
        output. The weights are those of both taps; integers use only the second tap's.
    """
    _, height, width, channels = spec.in_shape
    _, out_height, out_width, _ = spec.out_shape
    weight = "float32" if spec.dtype == "uint8" else "int32"
    interpolate = _in_float32 if spec.dtype == "uint8" else _in_integers
    with new_function("bilinear") as builder:
        source, target, (rows, row_weights, columns, column_weights) = _arguments(
            spec,
            [
                ("rows", (2, out_height), "int32"),
                ("row_weights", (2, out_height), weight),
                ("columns", (2, out_width), "int32"),
                ("column_weights", (2, out_width), weight),
            ],
        )

        def row(image: Index, y: Index, number: Index) -> None:
            lines = [(image * height + rows[tap, y]) * (width * channels) for tap in (0, 1)]
            with T.serial(out_width) as x:
                places = [columns[tap, x] * channels for tap in (0, 1)]
                start = (number * out_width + x) * channels

                def piece(offset: Index, lanes: int) -> None:
                    corners = [
                        [source[ramp(line + place + offset, lanes)] for line in lines]
                        for place in places
                    ]
                    down = [spread(row_weights[tap, y], lanes) for tap in (0, 1)]
                    right = [spread(column_weights[tap, x], lanes) for tap in (0, 1)]
                    value = interpolate(corners, down, right)
                    result = T.Cast(vector_of(spec.dtype, lanes), value)
                    T.buffer_store(target, result, [ramp(start + offset, lanes)])

                # These values fill two registers after widening.
                for_each_piece(channels, piece, isa.size // 2)

        _each_row(spec, _BILINEAR_PER_MICROSECOND, row)
    return builder.get()


def _arguments(
    spec: ResizeSpec, settings: list[tuple[str, tuple[int, ...], str]]
) -> tuple[Index, Index, list[Table]]:
    tables = Tables()
    data = T.arg("data", T.buffer(spec.in_shape, spec.dtype))
    buffers = [tables.parameter(label, shape, dtype) for label, shape, dtype in settings]
    output = T.arg("output", T.buffer(spec.out_shape, spec.dtype))
    tables.flatten()
    return flat(data), flat(output), buffers


def _each_row(
    spec: ResizeSpec, values_per_microsecond: int, row: Callable[[Index, Index, Index], None]
) -> None:
    batch, out_height = spec.out_shape[:2]
    tasks = task_count(prod(spec.out_shape) / values_per_microsecond)

    def numbered(number: Index) -> None:
        row(
            T.truncdiv(number, T.int32(out_height)), T.truncmod(number, T.int32(out_height)), number
        )

    shared_loop(tasks, batch * out_height, numbered)


def _in_float32(corners: list[list[Vector]], down: list[Vector], right: list[Vector]) -> Vector:
    """Add in the order of the reference: upper left, lower left, upper right, lower right."""
    lanes = lanes_in(corners[0][0])
    total = None
    for column, across in zip(corners, right, strict=True):
        for value, along in zip(column, down, strict=True):
            product = T.Cast(vector_of("float32", lanes), value) * along * across
            # The product is rounded before the sum: no fused instruction may do both.
            term = rounded_apart(product)
            total = term if total is None else total + term
    half = splat("float32", 0.5, lanes)
    return T.Cast(vector_of("int32", lanes), total + half)


def _in_integers(corners: list[list[Vector]], down: list[Vector], right: list[Vector]) -> Vector:
    lanes = lanes_in(corners[0][0])
    wide = vector_of("int32", lanes)
    one = splat("int32", FRACTION_BITS, lanes)

    def between(first: Index, second: Index, distance: Vector) -> Vector:
        return T.shift_left(first, one) + (second - first) * distance

    left, across = (
        between(T.Cast(wide, upper), T.Cast(wide, lower), down[1]) for upper, lower in corners
    )
    total = between(left, across, right[1])
    # Ties round away from zero, so a negative tie rounds down.
    half = splat("int32", _ONE * _ONE // 2, lanes) + T.shift_right(total, splat("int32", 31, lanes))
    return T.shift_right(total + half, splat("int32", 2 * FRACTION_BITS, lanes))


def _resize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    data = spec_of(operands[0])
    if attrs.layout != "NHWC" or 0 in data.shape:
        return None
    batch, height, width, channels = data.shape
    in_shape = batch, height, width, channels
    out_shape = batch, *attrs.size, channels
    if attrs.method == "nearest_neighbor":
        tables = [pixels.astype(np.int32) for pixels in pixels_of(attrs, (height, width))]
        keeps_rows = np.array_equal(tables[1], np.arange(width))
        function = nearest(ResizeSpec(in_shape, out_shape, data.dtype, keeps_rows))
    else:
        if channels < isa.size // 2:
            return None
        taps = taps_of(attrs, (height, width), data.dtype)
        tables = [table for along in taps for table in _tables(along, data.dtype)]
        function = bilinear(isa, ResizeSpec(in_shape, out_shape, data.dtype))
    constants = [as_const(table) for table in tables]
    return call_written(builder, function, [operands[0], *constants])


def _tables(taps: Taps, dtype: str) -> list[Array]:
    """Return the two source pixels of each output pixel, and their weights."""
    pixels = np.stack([taps.lower, taps.upper]).astype(np.int32)
    if dtype == "uint8":
        return [pixels, np.stack([np.float32(1) - taps.distance, taps.distance])]
    return [pixels, np.stack([_ONE - taps.distance, taps.distance]).astype(np.int32)]


RULES = ((quantized_resize2d, _resize),)
