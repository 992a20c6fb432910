"""quantize, dequantize and requantize in Relax primitives."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, round_half_away, saturate, scale_down
from legalize.primitives.registry import primitive
from qnn_ops.attributes import dtype_range, per_axis
from qnn_ops.onnxruntime import is_onnxruntime
from qnn_ops.quantization import dequantize, quantize, requantize
from qnn_ops.registry import Attrs, constant_of, spec_of
from qnn_ops.rounded import rounded
from qnn_ops.xnnpack import is_xnnpack, reciprocal


@primitive(quantize)
def _quantize(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    rank = len(spec_of(data).shape)
    if hasattr(attrs, "multiplier"):
        return _by_product(builder, attrs, data)
    if is_xnnpack(attrs):
        factor = const(reciprocal(per_axis(attrs.scale, attrs.axis, rank)), "float32")
        return _bounded_first(attrs, builder.emit(R.multiply(data, factor)))
    steps = builder.emit(R.divide(data, const(per_axis(attrs.scale, attrs.axis, rank), "float32")))
    if is_onnxruntime(attrs):
        return _bounded_first(attrs, steps)
    # NaN is not equal to itself; a cast of it to an integer would be undefined.
    steps = R.where(R.equal(steps, steps), round_half_away(builder, steps), const(0, "float32"))
    integer = R.astype(R.clip(steps, -(2.0**40), 2.0**40), "int64")
    zero_point = const(per_axis(attrs.zero_point, attrs.axis, rank), "int64")
    return saturate(R.add(integer, zero_point), dtype_range(attrs.out_dtype), attrs.out_dtype)


def _bounded_first(attrs: Attrs, steps: relax.Expr) -> relax.Expr:
    zero_point = per_axis(attrs.zero_point, attrs.axis, len(spec_of(steps).shape))
    low, high = dtype_range(attrs.out_dtype)
    lowest, highest = const(low - zero_point, "float32"), const(high - zero_point, "float32")
    if is_xnnpack(attrs):
        # NaN is neither more nor less: it becomes the first bound, XNNPACK's the highest.
        bounded = R.maximum(R.minimum(steps, highest), lowest)
    else:
        # NaN is not equal to itself, and is the lowest value to ONNX Runtime.
        number = R.where(R.equal(steps, steps), steps, lowest)
        bounded = R.minimum(R.maximum(number, lowest), highest)
    whole = R.astype(R.round(bounded), "int32")
    return R.astype(R.add(whole, const(zero_point, "int32")), attrs.out_dtype)


def _by_product(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    rank = len(spec_of(data).shape)
    multiplier = const(per_axis(attrs.multiplier, attrs.axis, rank), "float32")
    steps = builder.emit(R.round(R.multiply(data, multiplier)))
    steps = R.where(R.equal(steps, steps), steps, const(0, "float32"))
    zero_point = per_axis(attrs.zero_point, attrs.axis, rank)
    low, high = dtype_range(attrs.out_dtype)
    if attrs.out_dtype == "int32":
        integer = R.astype(R.clip(steps, -(2.0**40), 2.0**40), "int64")
        return saturate(R.add(integer, const(zero_point, "int64")), (low, high), "int32")
    # Bounded in float32, which has all of these integers, so that nothing wider is needed.
    bounded = R.minimum(
        R.maximum(steps, const(low - zero_point, "float32")), const(high - zero_point, "float32")
    )
    shifted = R.add(R.astype(bounded, "int32"), const(zero_point, "int32"))
    return R.astype(shifted, attrs.out_dtype)


@primitive(dequantize)
def _dequantize(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    known = constant_of(data)
    if known is not None:  # numpy is sooner done than code for one run
        return relax.const(dequantize.apply(attrs, known), "float32")
    rank = len(spec_of(data).shape)
    zero_point = const(per_axis(attrs.zero_point, attrs.axis, rank), "int64")
    steps = R.astype(R.subtract(R.astype(data, "int64"), zero_point), "float32")
    scale = const(per_axis(attrs.scale, attrs.axis, rank), "float32")
    return rounded(builder.emit(R.multiply(steps, scale)))


@primitive(requantize)
def _requantize(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    rank = len(spec_of(data).shape)

    centred = R.subtract(
        R.astype(data, "int32"), const(per_axis(attrs.input_zero_point, attrs.axis, rank), "int32")
    )
    return scale_down(
        builder,
        centred,
        per_axis(attrs.input_scale, attrs.axis, rank) / attrs.output_scale,
        attrs.rounding,
        attrs.output_zero_point,
        (attrs.out_min, attrs.out_max),
        attrs.out_dtype,
    )
