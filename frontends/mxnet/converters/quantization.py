"""Ranges and changes of scale of quantized operators; quantize, dequantize and requantize."""

from typing import NamedTuple

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context, converter
from frontends.mxnet.scalars import (
    INT32_LEVELS,
    Number,
    Value,
    is_known,
    levels,
    narrow_levels,
    scalar,
    steps_per_unit,
)
from qnn_ops import dequantize, quantize, requantize
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError

QUANTIZED = ("int8", "uint8")


class Range(NamedTuple):
    """The lowest and highest real value of a quantized tensor; float32, each known or computed."""

    low: Number
    high: Number

    @property
    def magnitude(self) -> Number:
        """The larger distance of an end from zero (MaxAbs)."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def steps_per_unit(self, dtype: str) -> Number:
        """Compute the steps per unit of a tensor of this range."""
        return steps_per_unit(dtype, self.low, self.high)


def range_at(ctx: Context, position: int) -> Range:
    """Return the range whose ends are the input at an index and the next one."""
    return Range(_end(ctx, position), _end(ctx, position + 1))


def _end(ctx: Context, position: int) -> Number:
    known = ctx.known(position)
    if known is not None:
        if known.size != 1 or not np.isfinite(known).all():
            raise QnnError(f"{ctx.names[position]!r} must be one finite number")
        return scalar(known.reshape(()))
    value = ctx.builder.array(ctx.expr(position))
    return value.reshape() if value.shape else value


def calibrated_range(ctx: Context) -> Range | None:
    """Return the range that calibration found, if the model was calibrated.

    Raises:
        QnnError: one end is missing.
    """
    names = ("min_calib_range", "max_calib_range")
    if not any(ctx.attrs.has(name) for name in names):
        return None
    low, high = (scalar(ctx.attrs.real(name)) for name in names)
    return Range(low, high)


def check_quantized(ctx: Context, position: int) -> str:
    """Return the dtype of an input that must be int8 or uint8."""
    dtype = ctx.dtype(position)
    if dtype not in QUANTIZED:
        name = ctx.names[position]
        raise QnnError(f"{name!r} must be {' or '.join(QUANTIZED)}, got {dtype}")
    return dtype


def quantized(data: relax.Expr, steps: Number, dtype: str) -> relax.Expr:
    """Multiply real numbers by ``steps``, round half to even and saturate."""
    if is_known(steps):
        # The scale is for display; arithmetic uses the steps.
        scale = float(np.float32(1) / np.float32(steps))
        return quantize(data, scale, 0, dtype, multiplier=float(steps))
    return _saturated(R.multiply(data, steps.expr), dtype)


def rescaled(data: relax.Expr, factor: Number, dtype: str) -> relax.Expr:
    """Multiply integers by a float32 factor, round half to even and saturate."""
    if is_known(factor):
        # Both scales are in units of a step of the result.
        return requantize(data, float(factor), 0, 1.0, 0, dtype, rounding="float32")
    return _saturated(R.multiply(R.astype(data, "float32"), factor.expr), dtype)


def real(data: relax.Expr, step: Number) -> relax.Expr:
    """Multiply integers by the real value of a step."""
    if is_known(step):
        return dequantize(data, float(step), 0)
    return R.multiply(R.astype(data, "float32"), step.expr)


def _saturated(value: relax.Expr, dtype: str) -> relax.Expr:
    low, high = dtype_range(dtype)
    return R.astype(R.clip(R.round(value), low, high), dtype)


_OUT_TYPES = ("auto", "int8", "uint8")


@converter("_contrib_quantize_v2")
def convert_quantize_v2(ctx: Context) -> list[Value]:
    """Quantize float32 data by its calibrated range, or by the data's own."""
    data, calibrated = ctx.expr(0), calibrated_range(ctx)
    if ctx.dtype(0) != "float32":
        raise QnnError(f"{ctx.names[0]!r} must be float32, got {ctx.dtype(0)}")
    dtype = _out_type(ctx, calibrated)
    bounds = calibrated or Range(*(ctx.builder.array(end(data)) for end in (R.min, R.max)))
    return [quantized(data, bounds.steps_per_unit(dtype), dtype), *_ends(bounds, dtype)]


@converter("_contrib_quantize")
def convert_quantize(ctx: Context) -> list[Value]:
    """Quantize float32 data by a range of its own input.

    It uses 127 or 255 steps, but readers of the result assume 127.5 or 255.5. The reported range
    compensates for that.
    """
    dtype = ctx.attrs.text("out_type", "uint8", _OUT_TYPES[1:])
    bounds = range_at(ctx, 1)
    steps = narrow_levels(dtype) / bounds.magnitude
    return [quantized(ctx.expr(0), steps, dtype), *_ends(bounds, dtype)]


@converter("_contrib_dequantize")
def convert_dequantize(ctx: Context) -> relax.Expr:
    """Return the real numbers that 8-bit integers stand for."""
    dtype = check_quantized(ctx, 0)
    return real(ctx.expr(0), range_at(ctx, 1).magnitude / levels(dtype))


@converter("_contrib_requantize")
def convert_requantize(ctx: Context) -> list[Value]:
    """Rescale sums of 32 bits to 8 bits, by the calibrated range or by the largest sum."""
    data, calibrated = ctx.expr(0), calibrated_range(ctx)
    if ctx.dtype(0) != "int32":
        raise QnnError(f"{ctx.names[0]!r} must be int32, got {ctx.dtype(0)}")
    source = range_at(ctx, 1).magnitude
    dtype = _out_type(ctx, calibrated)
    if calibrated is None:
        # As float32, which holds all magnitudes, including that of the lowest integer.
        largest = ctx.builder.array(R.max(R.abs(R.astype(data, "float32"))))
        magnitude = largest * source / INT32_LEVELS
    else:
        magnitude = calibrated.magnitude
    factor = (source / INT32_LEVELS) * (narrow_levels(dtype) / magnitude)
    low = -magnitude if dtype == "int8" else scalar(0)
    return [rescaled(data, factor, dtype), low, magnitude]


def _out_type(ctx: Context, calibrated: Range | None) -> str:
    """Return the dtype of the result; "auto" is uint8 if calibration saw no negative number."""
    dtype = ctx.attrs.text("out_type", "int8", _OUT_TYPES)
    if dtype != "auto":
        return dtype
    return "uint8" if calibrated is not None and calibrated.low >= 0 else "int8"


def _ends(bounds: Range, dtype: str) -> Range:
    """Return the range that the result reports: symmetric for int8."""
    return bounds if dtype == "uint8" else Range(-bounds.magnitude, bounds.magnitude)
