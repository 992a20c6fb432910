"""dynamic_encoding and dynamic_quantize in Relax primitives."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, round_half_away
from legalize.primitives.registry import primitive
from qnn_ops.dynamic_quantization import (
    LARGEST_STEPS,
    OFFSETS,
    dynamic_encoding,
    dynamic_quantize,
    is_whole,
)
from qnn_ops.onnxruntime import is_onnxruntime
from qnn_ops.registry import Attrs

_MOST = const(np.finfo(np.float32).max, "float32")


@primitive(dynamic_encoding)
def _dynamic_encoding(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    if is_whole(attrs):
        data = builder.emit(R.reshape(data, (-1,)))
    # NaN is not equal to itself.
    data = builder.emit(R.where(R.equal(data, data), data, const(0, "float32")))
    if is_onnxruntime(attrs):
        fields = _onnxruntime(builder, data)
    else:
        fields = (_asymmetric if attrs.asymmetric else _symmetric)(builder, data)
    return R.concat([builder.emit(field) for field in fields], -1)


def _symmetric(builder: relax.BlockBuilder, data: relax.Expr) -> list[relax.Expr]:
    size = builder.emit(R.max(R.abs(data), -1, keepdims=True))
    is_zero = builder.emit(R.equal(size, const(0, "float32")))
    one, most = const(1, "float32"), const(127, "float32")
    scale = R.where(is_zero, one, R.divide(size, most))
    steps = R.where(is_zero, one, R.divide(most, R.where(is_zero, one, size)))
    return [scale, steps, R.zeros_like(size)]


def _asymmetric(builder: relax.BlockBuilder, data: relax.Expr) -> list[relax.Expr]:
    zero = const(0, "float32")
    low, high = _range(builder, data)
    length = builder.emit(R.subtract(high, low))
    is_zero = builder.emit(R.equal(length, zero))

    def number(value: float) -> relax.Expr:
        return const(value, "float64")

    part = R.divide(R.astype(length, "float64"), number(255.0))
    exact = builder.emit(R.where(is_zero, number(1.0), part))
    below = builder.emit(R.divide(R.astype(low, "float64"), exact))
    above = builder.emit(R.divide(R.astype(high, "float64"), exact))
    # Neither is positive here, or negative there.
    takes_low = R.less(R.subtract(number(128.0), below), R.add(number(127.0), above))
    from_low, from_high = R.subtract(number(-128.0), below), R.subtract(number(127.0), above)
    point = builder.emit(R.clip(R.where(takes_low, from_low, from_high), -128.0, 127.0))
    whole = R.astype(round_half_away(builder, point), "float32")
    scale = builder.emit(R.astype(exact, "float32"))
    steps = R.divide(const(1, "float32"), scale)
    has_point = R.logical_and(R.greater(length, zero), R.less_equal(length, _MOST))
    return [scale, steps, R.where(has_point, whole, zero)]


def _onnxruntime(builder: relax.BlockBuilder, data: relax.Expr) -> list[relax.Expr]:
    low, high = _range(builder, data)
    length, zero, one = (
        builder.emit(R.subtract(high, low)),
        const(0, "float32"),
        const(1, "float32"),
    )
    part = R.divide(length, const(255, "float32"))
    scale = builder.emit(R.where(R.equal(length, zero), one, part))
    end = R.negative(R.divide(low, scale))
    # Not with an infinite length, where it may be no number.
    bounded = R.clip(R.where(R.less_equal(length, _MOST), end, zero), 0.0, 255.0)
    point = R.subtract(builder.emit(R.round(bounded)), const(128, "float32"))
    return [scale, R.divide(one, scale), point]


def _range(builder: relax.BlockBuilder, data: relax.Expr) -> tuple[relax.Expr, relax.Expr]:
    """Return the ends of each row and 0."""
    zero = const(0, "float32")
    low = builder.emit(R.minimum(R.min(data, -1, keepdims=True), zero))
    return low, builder.emit(R.maximum(R.max(data, -1, keepdims=True), zero))


@primitive(dynamic_quantize)
def _dynamic_quantize(
    builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr, encoding: relax.Expr
) -> relax.Expr:
    points = builder.emit(R.strided_slice(encoding, [-1], [2], [3]))
    offset = const(OFFSETS[attrs.out_dtype], "int32")
    if is_onnxruntime(attrs):
        scales = builder.emit(R.strided_slice(encoding, [-1], [0], [1]))
        steps = builder.emit(R.divide(data, scales))
        low, high = (R.subtract(const(end, "float32"), points) for end in (-128, 127))
        steps = R.where(R.equal(steps, steps), steps, low)
        whole = R.round(R.minimum(R.maximum(steps, low), high))
        moved = R.add(R.astype(R.add(whole, points), "int32"), offset)
        return R.astype(moved, attrs.out_dtype)
    units = builder.emit(R.strided_slice(encoding, [-1], [1], [2]))
    steps = builder.emit(R.multiply(data, units))
    # NaN is not equal to itself; a cast of it to an integer would be undefined.
    steps = R.where(R.equal(steps, steps), steps, const(0, "float32"))
    whole = round_half_away(builder, R.clip(steps, -LARGEST_STEPS, LARGEST_STEPS))
    values = R.clip(R.add(whole, points), -128.0, 127.0)
    moved = R.add(R.astype(values, "int32"), offset)
    return R.astype(moved, attrs.out_dtype)
