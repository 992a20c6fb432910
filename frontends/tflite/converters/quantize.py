"""QUANTIZE and DEQUANTIZE."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, per_channel, per_tensor
from frontends.tflite.converters.plain import zero_points
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import Tensor
from qnn_ops import dequantize, quantize, requantize

# What LiteRT's QUANTIZE takes: from -> to.
_QUANTIZE = {
    "float32": ("int8", "uint8", "int16"),
    "int8": ("int8", "uint8", "int16"),
    "uint8": ("int8", "uint8", "int16"),
    "int16": ("int8", "int16", "int32"),
    "int32": ("int8", "int16"),
}


@data_converter("QUANTIZE")
def convert_quantize(ctx: Context) -> relax.Expr:
    """Quantize from float32, or from one quantization to another."""
    data, result = ctx.input(0), ctx.output()
    if result.dtype not in _QUANTIZE.get(data.tensor.dtype, ()):
        raise UnsupportedError(f"from {data.tensor.dtype} to {result.dtype}")
    if data.tensor.dtype == "float32" and not result.packed:
        return quantized(data.expr, result)
    if data.tensor.packed or result.packed:
        return _packed(ctx, data, result)
    encoding = per_tensor(result)
    known = data.tensor.quantization
    if known is None or known.is_per_channel:  # of which LiteRT takes the scale for 0
        return zero_points(result, data.shape)
    return requantize(data.expr, *data.quantization, *encoding, result.dtype)


def _packed(ctx: Context, data: Operand, result: Tensor) -> relax.Expr:
    """Quantize from float32 to the range of int4."""
    if data.tensor.dtype != "float32" or result.packed != "int4":
        kinds = [each.packed or each.dtype for each in (data.tensor, result)]
        raise UnsupportedError(f"from {kinds[0]} to {kinds[1]}")
    wide = ctx.builder.emit(quantize(data.expr, *per_tensor(result), result.dtype))
    return R.maximum(R.minimum(wide, relax.const(7, "int8")), relax.const(-8, "int8"))


@data_converter("DEQUANTIZE")
def convert_dequantize(ctx: Context) -> relax.Expr:
    """Dequantize to float32."""
    data = ctx.input(0)
    if data.tensor.dtype == "float16":
        return R.astype(data.expr, "float32")
    if data.tensor.dtype not in ("int8", "uint8", "int16"):
        raise UnsupportedError(f"from {data.tensor.dtype}")
    quantization = data.tensor.quantization
    if quantization is None:  # to LiteRT a scale of 0, which keeps the sign
        zeros = (relax.const(zero, "float32") for zero in (-0.0, 0.0))
        return R.where(R.less(data.expr, relax.const(0, data.tensor.dtype)), *zeros)
    if 0 in data.shape and quantization is not None and quantization.is_per_channel:
        # LiteRT reads beyond the tensor.
        raise UnsupportedError(f"{data.tensor.label} has scales by channel and no elements")
    return real(data)


def quantized(expr: relax.Expr, result: Tensor) -> relax.Expr:
    """Return a float32 expression as the integers of a quantized tensor."""
    axis = _axis(result)
    return quantize(expr, *per_channel(result, axis), result.dtype, axis=axis)


def real(operand: Operand) -> relax.Expr:
    """Return the float32 values that a quantized operand stands for."""
    axis = _axis(operand.tensor)
    return dequantize(operand.expr, *per_channel(operand.tensor, axis), axis=axis)


def _axis(tensor: Tensor) -> int:
    return tensor.quantization.axis if tensor.quantization is not None else 0
