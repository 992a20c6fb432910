"""Relay's own arithmetic of quantized operators, as plain operators.

Relay rewrote each quantized operator to plain ones. The arithmetic comes from the functions
``...Canonicalize`` in src/relay/qnn/op of TVM 0.19 and from ``GetFixedPointMultiplierShift`` in
src/relay/qnn/utils.cc. Where the dialect's operators compute the same numbers, they are used, since
they have kernels.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from tvm.relax import Call, Expr

import qnn_ops
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.dialect import declared
from qnn_ops.dialect.checks import check_axis, check_dtype
from qnn_ops.errors import QnnError
from tvm_qnn.relay import op
from tvm_qnn.relay.expr import clip, const, is_known, number, offer, spec, typed

ROUNDINGS = ("UPWARD", "TONEAREST")
COMPUTE_DTYPES = ("int64", "float32", "float64")

_PARAMETER = "a scale or zero point"
_OF_DIALECT = ("int8", "uint8", "int16", "int32")
_CONFIG: ContextVar[tuple[str, str]] = ContextVar("requantize_config", default=("UPWARD", "int64"))


@offer
@contextmanager
def requantize_config(rounding: str = "UPWARD", compute_dtype: str = "int64") -> Iterator[None]:
    """Set the meaning of "None" for calls of ``requantize`` in the block.

    Args:
        rounding: "UPWARD" or "TONEAREST".
        compute_dtype: "int64", "float32" or "float64".
    """
    token = _CONFIG.set((rounding, compute_dtype))
    try:
        yield
    finally:
        _CONFIG.reset(token)


def along(value: Any, dtype: str, shape: Sequence[int], axis: int) -> Expr:
    """Return a scale or zero point in a shape that broadcasts with the data.

    Args:
        value: numbers, a constant or an expression; one, or one per channel.
        dtype: the result's dtype.
        shape: the data's shape.
        axis: the axis of the channels; it may count from the end.

    Raises:
        QnnError: if the number of values is not the number of channels.
    """
    if is_known(value):
        value = const(np.asarray(number(_PARAMETER, value), dtype))
    given = spec(_PARAMETER, value)
    if given.dtype != dtype:
        value = op.cast(value, dtype)
    return op.reshape(value, _sizes(given.shape, shape, axis))


def _sizes(given: Sequence[int], shape: Sequence[int], axis: int) -> list[int]:
    """Return the shape with which a parameter of shape ``given`` broadcasts with the data.

    Raises:
        QnnError: if the number of values is not the number of channels.
    """
    sizes = [1] * len(shape)
    if math.prod(given) != 1:
        place = check_axis(axis, len(shape))
        sizes[place] = channels = shape[place]
        if tuple(given) != (channels,):
            raise QnnError(
                f"{_PARAMETER} has shape {tuple(given)}, "
                f"axis {axis} of the data has {channels} values"
            )
    return sizes


def narrowed(data: Expr, dtype: str) -> Expr:
    """Clamp values to an integer dtype, and convert them to it."""
    given = spec("data", data).dtype
    if given == dtype:
        return data
    values = data if given == "int32" else op.cast(data, "int32")
    return values if dtype == "int32" else op.cast(clip(values, *_range(dtype)), dtype)


def _range(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def steps_of(data: Expr, scale: Any, zero_point: Any, axis: int) -> Expr:
    """Return floats in steps, without a limit: round(x / scale) + zero point."""
    shape = spec("data", data).shape
    steps = op.round(op.divide(data, along(scale, "float32", shape, axis)))
    return op.add(steps, along(zero_point, "float32", shape, axis))


@offer
def quantize(
    data: Expr,
    output_scale: Any,
    output_zero_point: Any,
    axis: declared.Axis = -1,
    out_dtype: declared.Text = "int8",
) -> Call:
    """Quantize float32 data to int8, uint8, int16, uint16 or int32: round(x / scale) + zero point.

    Halves are rounded away from zero.
    """
    if out_dtype in _OF_DIALECT and is_known(output_scale, output_zero_point):
        scale, zero_point = number("scale", output_scale), number("zero point", output_zero_point)
        return typed(qnn_ops.quantize(data, scale, zero_point, out_dtype, axis))
    check_dtype("quantize: data", spec("quantize: data", data).dtype, ("float32",))
    check_dtype("quantize: out_dtype", out_dtype, ("int8", "uint8", "int16", "uint16", "int32"))
    steps = steps_of(data, output_scale, output_zero_point, axis)
    low, high = _range(out_dtype)
    if out_dtype == "int32":  # float32 does not have its highest value
        high = 2147483520
    return op.cast(clip(steps, low, high), out_dtype)


@offer
def dequantize(
    data: Expr,
    input_scale: Any,
    input_zero_point: Any,
    axis: declared.Axis = -1,
    out_dtype: declared.Text = "float32",
) -> Call:
    """Return the real numbers of quantized data as float32 or float16: (q - zero point) · scale."""
    given = spec("dequantize: data", data)
    dialect = given.dtype != "uint16" and out_dtype == "float32"
    if dialect and is_known(input_scale, input_zero_point):
        scale, zero_point = number("scale", input_scale), number("zero point", input_zero_point)
        info = np.iinfo(given.dtype)
        if np.min(zero_point) >= info.min and np.max(zero_point) <= info.max:  # Relay accepted any
            return typed(qnn_ops.dequantize(data, scale, zero_point, out_dtype, axis))
    check_dtype("dequantize: out_dtype", out_dtype, ("float16", "float32"))
    points = along(input_zero_point, "int32", given.shape, axis)
    scales = along(input_scale, "float32", given.shape, axis)
    shifted = op.subtract(op.cast(data, "int32"), points)
    real = op.multiply(op.cast(shifted, "float32"), scales)
    if out_dtype == "float32":
        return real
    limits = np.finfo(out_dtype)
    return op.cast(clip(real, float(limits.min), float(limits.max)), out_dtype)


@offer
def requantize(
    data: Expr,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    out_dtype: str = "int8",
) -> Call:
    """Rescale quantized values.

    Args:
        data: int8, uint8, int16, int32 or int64.
        input_scale: the data's scale, one or one per channel along ``axis``.
        input_zero_point: the data's zero point.
        output_scale: the result's scale.
        output_zero_point: the result's zero point.
        axis: the axis of the channels.
        rounding: "UPWARD": halves are rounded up; "TONEAREST": away from zero; "None": as set by
            ``relay.qnn.requantize_config``, otherwise "UPWARD".
        compute_dtype: "int64", "float32" or "float64"; "None": as set by ``requantize_config``,
            otherwise "int64". For targets with SSE 4.1, Relay chose float32.
        out_dtype: int8, uint8, int16 or int32.

    Raises:
        QnnError: if an argument does not fit, or a scale depends on an input.
    """
    configured = _CONFIG.get()
    rounding = _chosen("rounding", rounding, configured[0], ROUNDINGS)
    compute_dtype = _chosen("compute_dtype", compute_dtype, configured[1], COMPUTE_DTYPES)
    given = spec("requantize: data", data)
    check_dtype("requantize: data", given.dtype, (*_OF_DIALECT, "int64"))
    check_dtype("requantize: out_dtype", out_dtype, _OF_DIALECT)
    scales = (number("input scale", input_scale), number("output scale", output_scale))
    names = ("input zero point", "output zero point")
    points = [*map(number, names, (input_zero_point, output_zero_point))]
    if isinstance(_one(scales[1]), list) or isinstance(_one(points[1]), list):
        raise QnnError("requantize: the result has one scale and one zero point")
    if given.dtype in _OF_DIALECT and (rounding, compute_dtype) == ("UPWARD", "int64"):
        have, want = ((_one(scales[i]), _one(points[i])) for i in (0, 1))
        call = qnn_ops.requantize(data, *have, *want, out_dtype, axis=axis, rounding="upward")
        return typed(call)
    work = "int32" if compute_dtype == "int64" else compute_dtype
    if np.min(scales[0]) <= 0 or np.min(scales[1]) <= 0:
        raise QnnError(f"requantize: scales must be above 0, got {scales[0]} and {scales[1]}")
    for each in (scales[0], points[0]):
        _sizes(np.shape(each), given.shape, axis)  # checks their number
    values = op.cast(data, work)
    if np.any(points[0]):
        values = op.subtract(values, along(points[0], work, given.shape, axis))
    real = np.float32(scales[0]).astype(np.float64) / np.float64(np.float32(_one(scales[1])))
    if np.any(real != 1):
        if compute_dtype == "int64":
            values = _scaled(values, real, axis, rounding)
        else:
            values = op.multiply(values, along(real.astype(work), work, given.shape, axis))
    values = op.add(values, along(points[1], work, given.shape, axis))
    if compute_dtype != "int64":
        values = op.cast(_in_floats(values, rounding), "int32")
    return narrowed(values, out_dtype)


def _chosen(name: str, given: str, configured: str, known: Sequence[str]) -> str:
    value = configured if given == "None" else given
    if value not in known:
        raise QnnError(f"requantize: {name} is one of None, {', '.join(known)}, got {value!r}")
    return value


def _one(value: Any) -> Any:
    """Return the only number in a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _in_floats(values: Expr, rounding: str) -> Expr:
    if rounding == "TONEAREST":
        return op.round(values)
    return op.floor(op.add(values, const(0.5, spec("values", values).dtype)))


def _scaled(values: Expr, real: Any, axis: int, rounding: str) -> Expr:
    """Multiply int32 values by fixed-point numbers in int64, and round once."""
    multiplier, shift = quantize_multiplier(real)
    shape = spec("values", values).shape

    def row(numbers: Any) -> Expr:
        return along(np.asarray(numbers, np.int64), "int64", shape, axis)

    wide = op.left_shift(op.cast(values, "int64"), row(np.maximum(shift, 0)))
    wide = op.multiply(wide, row(multiplier))
    right = 31 - np.minimum(shift, 0)
    wide_half = row(np.int64(1) << (right.astype(np.int64) - 1))
    if rounding == "TONEAREST":
        is_negative = op.less(wide, const(0, "int64"))
        wide_half = op.subtract(wide_half, op.cast(is_negative, "int64"))
    wide = op.right_shift(op.add(wide, wide_half), row(right))
    return op.cast(wide, "int32")


def sum_of(
    combine: Any,
    operands: Sequence[Any],
    scales: Sequence[Any],
    points: Sequence[Any],
    axes: Sequence[int],
) -> Expr:
    """Add or subtract quantized tensors; both are first rescaled to the result's scale.

    Args:
        combine: ``op.add`` or ``op.subtract``.
        operands: the two tensors.
        scales: the scales of both and of the result.
        points: the zero points of both and of the result.
        axes: the axes of both tensors' channels.
    """
    dtype = spec("lhs", operands[0]).dtype
    parts = [
        rescaled(data, scale, point, scales[2], points[2], "int32", axis)
        for data, scale, point, axis in zip(operands, scales[:2], points[:2], axes, strict=True)
    ]
    result = combine(*parts)
    point = number("output zero point", points[2])
    if point:
        # The sum has the zero point twice, the difference not at all.
        correct = op.subtract if combine is op.add else op.add
        result = correct(result, const(point, "int32"))
    return narrowed(result, dtype)


def rescaled(
    data: Expr, scale: Any, point: Any, to_scale: Any, to_point: Any, out_dtype: str, axis: int = -1
) -> Expr:
    """Requantize, unless the result has the same scale and zero point; then convert the dtype."""
    have = (number("scale", scale), number("zero point", point))
    want = (number("output scale", to_scale), number("output zero point", to_point))
    if tuple(map(_float32, have)) == tuple(map(_float32, want)):
        return narrowed(data, out_dtype)
    return requantize(data, *have, *want, axis, out_dtype=out_dtype)


def _float32(value: Any) -> Any:
    return np.float32(value).tolist()


def product_of(
    operands: Sequence[Any], scales: Sequence[Any], points: Sequence[Any], axes: Sequence[int]
) -> Expr:
    """Multiply quantized tensors; the scale of the product is the scales' float32 product."""
    dtype = spec("lhs", operands[0]).dtype
    factors = list(map(centred, operands, points, axes))
    lhs, rhs = (np.float32(number("scale", scale)) for scale in scales[:2])
    scale = np.asarray(lhs * rhs)
    if scale.ndim and axes[0] != axes[1]:
        raise QnnError(f"mul: lhs_axis and rhs_axis must be the same, got {axes[0]} and {axes[1]}")
    product = op.multiply(*factors)
    want = (scales[2], points[2], axes[0])
    return requantize(product, scale.tolist(), 0, *want, out_dtype=dtype)


@offer
def leaky_relu(
    x: Expr,
    alpha: float,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
) -> Call:
    """Compute x, or alpha · x if x is negative, for int8 or uint8 values."""
    dtype = spec("x", x).dtype
    check_dtype("leaky_relu: x", dtype, ("int8", "uint8"))
    quantization = (input_scale, input_zero_point, output_scale, output_zero_point)
    values = rescaled(x, *quantization, "int32")
    point = number("output zero point", output_zero_point)
    multiplier, exponent = map(int, quantize_multiplier(1 - alpha))
    total = 31 - min(exponent, 0)
    offset = ((point << max(exponent, 0)) * multiplier + (1 << (total - 1))) >> total
    scaled = op.add(_scaled(values, np.float64(alpha), -1, "UPWARD"), const(offset, "int32"))
    zero = number("zero point", input_zero_point)
    is_negative = op.less(op.cast(x, "int32"), const(zero, "int32"))
    return narrowed(op.where(is_negative, scaled, values), dtype)


def centred(data: Expr, zero_point: Any, axis: int = 0) -> Expr:
    """Return int32 values minus their zero point, which is one number or one per channel."""
    values = op.cast(data, "int32")
    if is_known(zero_point) and not np.any(number("zero point", zero_point)):
        return values
    return op.subtract(values, along(zero_point, "int32", spec("data", data).shape, axis))
