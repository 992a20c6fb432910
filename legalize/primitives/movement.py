"""quantized_pad, quantized_concat and quantized_resize2d in Relax primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.activations import lookup
from legalize.primitives.fixed_point import const
from legalize.primitives.registry import primitive
from qnn_ops.layouts import reorder
from qnn_ops.quantized_concat import conversion_table, quantized_concat
from qnn_ops.quantized_pad import quantized_pad
from qnn_ops.quantized_resize2d import FRACTION_BITS, Taps, pixels_of, quantized_resize2d, taps_of
from qnn_ops.registry import Attrs, spec_of


@primitive(quantized_pad)
def _quantized_pad(_builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    if not any(attrs.pad_width):
        return data
    return R.nn.pad(data, list(attrs.pad_width), pad_value=attrs.pad_value)


@primitive(quantized_concat)
def _quantized_concat(builder: relax.BlockBuilder, attrs: Attrs, inputs: relax.Expr) -> relax.Expr:
    def converted(index: int) -> relax.Expr:
        data = inputs.fields[index] if isinstance(inputs, relax.Tuple) else inputs[index]
        table = conversion_table(attrs, index)
        if table is None:
            return data
        # An 8-bit input has 256 values only: the float32 formula is evaluated here, and what
        # the target's compiler makes of float arithmetic does not matter.
        return lookup(builder.emit(data), const(table, attrs.out_dtype))

    parts = [converted(index) for index in range(len(attrs.input_scales))]
    return R.concat(parts, axis=attrs.axis)


Array = np.ndarray[Any, Any]


@primitive(quantized_resize2d)
def _quantized_resize2d(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    spec = spec_of(data)
    _, height, width, _ = reorder(spec.shape, attrs.layout, "NHWC")
    vertical, horizontal = attrs.layout.index("H"), attrs.layout.index("W")
    if attrs.method == "nearest_neighbor":
        rows, columns = pixels_of(attrs, (height, width))
        return _pick(_pick(data, rows, vertical), columns, horizontal)
    down, right = taps_of(attrs, (height, width), spec.dtype)
    interpolate = _in_float32 if spec.dtype == "uint8" else _in_integers
    return R.astype(interpolate(builder, data, (down, vertical), (right, horizontal)), spec.dtype)


def _in_float32(
    builder: relax.BlockBuilder, data: relax.Expr, down: tuple[Taps, int], right: tuple[Taps, int]
) -> relax.Expr:
    (vertical, row_axis), (horizontal, column_axis) = down, right
    one = np.float32(1)

    def weighted(image: relax.Expr, pixels: Array, weight: Array, axis: int) -> relax.Expr:
        factor = const(_along(axis, weight), "float32")
        return R.multiply(_pick(image, pixels, axis), factor)

    def term(image: relax.Expr, pixels: Array, weight: Array) -> relax.Expr:
        # A product must be rounded before it is added. LLVM would fuse the two where the processor
        # can; a bound that no product reaches (255 times 1.5 times 1.5 at most) keeps them apart.
        product = weighted(image, pixels, weight, column_axis)
        return R.maximum(product, const(-1024.0, "float32"))

    values = builder.emit(R.astype(data, "float32"))
    upper = builder.emit(weighted(values, vertical.lower, one - vertical.distance, row_axis))
    lower = builder.emit(weighted(values, vertical.upper, vertical.distance, row_axis))
    total = R.add(
        term(upper, horizontal.lower, one - horizontal.distance),
        term(lower, horizontal.lower, one - horizontal.distance),
    )
    total = R.add(total, term(upper, horizontal.upper, horizontal.distance))
    total = R.add(total, term(lower, horizontal.upper, horizontal.distance))
    return R.astype(R.add(total, const(0.5, "float32")), "int32")


def _in_integers(
    builder: relax.BlockBuilder, data: relax.Expr, down: tuple[Taps, int], right: tuple[Taps, int]
) -> relax.Expr:
    # 8 bits by two weights of 10 fraction bits: the sums fit int32; those of 16 bits do not.
    dtype, sign = ("int64", 63) if spec_of(data).dtype == "int16" else ("int32", 31)
    one = 1 << FRACTION_BITS

    def between(image: relax.Expr, taps: Taps, axis: int) -> relax.Expr:
        image = builder.emit(image)
        near, far = (
            const(_along(axis, weight), dtype) for weight in (one - taps.distance, taps.distance)
        )
        return R.add(
            R.multiply(_pick(image, taps.lower, axis), near),
            R.multiply(_pick(image, taps.upper, axis), far),
        )

    total = builder.emit(between(between(R.astype(data, dtype), *down), *right))
    # Half away from zero: a negative value rounds down at a tie.
    half = R.add(const(one * one // 2, dtype), R.right_shift(total, const(sign, dtype)))
    return R.right_shift(R.add(total, half), const(2 * FRACTION_BITS, dtype))


def _pick(image: relax.Expr, pixels: Array, axis: int) -> relax.Expr:
    return R.take(image, const(pixels, "int32"), axis=axis, mode="clip")


def _along(axis: int, weight: Array) -> Array:
    """Return one weight per pixel, shaped to broadcast along ``axis`` of an image."""
    return weight.reshape([-1 if index == axis else 1 for index in range(4)])
