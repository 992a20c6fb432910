"""_contrib_quantize, _contrib_quantize_v2, _contrib_dequantize and _contrib_requantize."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.quantization import (
    Range,
    calibrated_range,
    check_quantized,
    quantized,
    range_at,
    real,
    rescaled,
)
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import (
    INT32_LEVELS,
    divide,
    levels,
    multiply,
    narrow_levels,
    negative,
    scalar,
)
from frontends.mxnet.values import Value
from qnn_ops.errors import QnnError

_OUT_TYPES = ("auto", "int8", "uint8")


@converter("_contrib_quantize_v2")
def convert_quantize_v2(ctx: Context) -> list[Value]:
    """Quantize float32 data by its calibrated range, or by the data's own."""
    data, calibrated = ctx.expr(0), calibrated_range(ctx)
    if ctx.dtype(0) != "float32":
        raise QnnError(f"{ctx.operand(0).name!r} must be float32, got {ctx.dtype(0)}")
    dtype = _out_type(ctx, calibrated)
    bounds = calibrated or Range(ctx.emit(R.min(data)), ctx.emit(R.max(data)))
    return [quantized(data, bounds.steps_per_unit(dtype), dtype), *_ends(bounds, dtype)]


@converter("_contrib_quantize")
def convert_quantize(ctx: Context) -> list[Value]:
    """Quantize float32 data by a range of its own input.

    By 127 or 255 steps, while whoever reads the result takes it for 127.5 or 255.5; the range
    of what was to be computed makes up for that.
    """
    dtype = ctx.attrs.text("out_type", "uint8", _OUT_TYPES[1:])
    bounds = range_at(ctx, 1)
    steps = divide(narrow_levels(dtype), bounds.magnitude)
    return [quantized(ctx.expr(0), steps, dtype), *_ends(bounds, dtype)]


@converter("_contrib_dequantize")
def convert_dequantize(ctx: Context) -> relax.Expr:
    """Return the real numbers that 8-bit integers stand for."""
    dtype = check_quantized(ctx, 0)
    return real(ctx.expr(0), divide(range_at(ctx, 1).magnitude, levels(dtype)))


@converter("_contrib_requantize")
def convert_requantize(ctx: Context) -> list[Value]:
    """Bring sums of 32 bits to 8 bits, by the calibrated range or by the largest sum."""
    data, calibrated = ctx.expr(0), calibrated_range(ctx)
    if ctx.dtype(0) != "int32":
        raise QnnError(f"{ctx.operand(0).name!r} must be int32, got {ctx.dtype(0)}")
    source = range_at(ctx, 1).magnitude
    dtype = _out_type(ctx, calibrated)
    if calibrated is None:
        # As float32, which has all magnitudes, that of the lowest integer, too.
        largest = R.max(R.abs(R.astype(data, "float32")))
        magnitude = divide(multiply(largest, source), INT32_LEVELS)
    else:
        magnitude = calibrated.magnitude
    factor = multiply(divide(source, INT32_LEVELS), divide(narrow_levels(dtype), magnitude))
    low = negative(magnitude) if dtype == "int8" else scalar(0)
    return [rescaled(data, factor, dtype), low, magnitude]


def _out_type(ctx: Context, calibrated: Range | None) -> str:
    """Return the dtype of the result; "auto" is uint8 where calibration saw nothing negative."""
    dtype = ctx.attrs.text("out_type", "int8", _OUT_TYPES)
    if dtype != "auto":
        return dtype
    return "uint8" if calibrated is not None and calibrated.low >= 0 else "int8"


def _ends(bounds: Range, dtype: str) -> list[Value]:
    """Return the range that the result reports: symmetric for int8."""
    if dtype == "uint8":
        return [bounds.low, bounds.high]
    return [negative(bounds.magnitude), bounds.magnitude]
