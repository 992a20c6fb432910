"""QUANTIZE, DEQUANTIZE, FAKE_QUANT and CAST."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, per_channel, per_tensor, seen_in
from frontends.tflite.converters.scales import EIGHT_BITS, zero_points
from frontends.tflite.model import DTYPES, Tensor
from frontends.tflite.operators import CONVERTED, Rule, converter
from frontends.tflite.options.base import Options
from frontends.tflite.sparsity import BITS
from qnn_ops import dequantize, quantize, requantize
from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.comparisons import unequal

_UNPACKS = ("int4", "int2")

# The types of LiteRT's QUANTIZE: from -> to.
_QUANTIZE = {
    "float32": ("int8", "uint8", "int16"),
    "int8": ("int8", "uint8", "int16"),
    "uint8": ("int8", "uint8", "int16"),
    "int16": ("int8", "int16", "int32"),
    "int32": ("int8", "int16"),
}


@converter("QUANTIZE", micro=CONVERTED, unpacks=_UNPACKS, is_complemented=True, keeps="scores")
def convert_quantize(ctx: Context) -> relax.Expr:
    """Quantize from float32, or from one quantization to another."""
    data, result = ctx.input(0), ctx.output()
    if result.dtype not in _QUANTIZE.get(data.dtype, ()):
        raise UnsupportedError(f"from {data.dtype} to {result.dtype}")
    if data.dtype == "float32" and not result.packed:
        return quantized(data.expr, result)
    if data.tensor.packed or result.packed:
        return _packed(ctx, data, result)
    encoding = per_tensor(result)
    known = data.tensor.quantization
    if known is None or known.is_per_channel:  # LiteRT reads 0 as its scale
        return zero_points(result, data.shape)
    return requantize(data.expr, *data.quantization, *encoding, result.dtype)


def _packed(ctx: Context, data: Operand, result: Tensor) -> relax.Expr:
    """Quantize from float32 to the range of int4."""
    if data.dtype != "float32" or result.packed != "int4":
        kinds = [each.packed or each.dtype for each in (data.tensor, result)]
        raise UnsupportedError(f"from {kinds[0]} to {kinds[1]}")
    wide = ctx.emit(quantize(data.expr, *per_tensor(result), result.dtype))
    return R.maximum(R.minimum(wide, relax.const(7, "int8")), relax.const(-8, "int8"))


@converter("DEQUANTIZE", micro=CONVERTED, unpacks=_UNPACKS, is_complemented=True, keeps="scores")
def convert_dequantize(ctx: Context) -> relax.Expr:
    """Dequantize to float32."""
    data = ctx.input(0)
    if data.dtype == "float16":
        return R.astype(data.expr, "float32")
    if data.dtype not in ("int8", "uint8", "int16"):
        raise UnsupportedError(f"from {data.dtype}")
    quantization = data.tensor.quantization
    if quantization is None:  # LiteRT reads a scale of 0, which keeps the sign
        zeros = (relax.const(zero, "float32") for zero in (-0.0, 0.0))
        return R.where(R.less(data.expr, relax.const(0, data.dtype)), *zeros)
    if 0 in data.shape and quantization is not None and quantization.is_per_channel:
        # LiteRT reads beyond the tensor.
        raise UnsupportedError(f"{data.label} has scales by channel and no elements")
    return real(data)


def quantized(expr: relax.Expr, result: Tensor) -> relax.Expr:
    """Return a float32 expression as the integers of a quantized tensor."""
    axis = _axis(result)
    return quantize(expr, *per_channel(result, axis), result.dtype, axis=axis)


def real(operand: Operand) -> relax.Expr:
    """Return the float32 values of a quantized operand."""
    axis = _axis(operand.tensor)
    return dequantize(operand.expr, *per_channel(operand.tensor, axis), axis=axis)


def _axis(tensor: Tensor) -> int:
    return tensor.quantization.axis if tensor.quantization is not None else 0


@dataclass(frozen=True)
class _RealContext(Context):
    """Shows a float rule the real values of quantized operands."""

    def operand(self, tensor: Tensor) -> Operand:
        operand = super().operand(tensor)
        if tensor.dtype not in EIGHT_BITS:
            return operand
        return Operand(tensor, self.builder.emit(real(operand)))


def in_float(rule: Rule) -> Rule:
    """Return a float rule for quantized operators; its caller must warn the user."""

    def convert(ctx: Context) -> list[relax.Expr]:
        results = ctx.results(seen_in(_RealContext, rule))
        return [quantized(result, ctx.output(i)) for i, result in enumerate(results)]

    return convert


@converter("CAST", unpacks=_UNPACKS, keeps="numbers")
def convert_cast(ctx: Context) -> Any:
    """Convert numbers without their scales; integers wrap, floats saturate."""
    data, dtype = ctx.input(0), ctx.output().dtype
    source = data.dtype
    if source not in DTYPES:
        raise UnsupportedError(f"from {source}")
    packed = data.tensor.packed or ctx.output().packed
    if packed and "float32" not in (source, dtype):
        raise UnsupportedError(f"between {packed} and another type than float32")
    if source == dtype:
        return data.expr
    if dtype == "bool":
        return unequal(data.expr, relax.const(0, source))
    if source == "float32":
        return _saturated(ctx.array(0), dtype, BITS.get(packed, np.iinfo(dtype).bits))
    return R.astype(data.expr, dtype)


def _saturated(data: Any, dtype: str, bits: int) -> Any:
    """Round towards zero and clamp to a number of bits; NaN becomes the highest number."""
    ends = np.iinfo(dtype)
    low, high = (int(end) >> (ends.bits - bits) for end in (ends.min, ends.max))
    most = np.float32(high)
    if int(most) > high:  # of int32 and int64: it is not a float32
        most = np.nextafter(most, np.float32(0))
    fits = data <= most
    inside: Any = np.maximum(np.where(fits, data, most), np.float32(low))
    return np.where(fits, inside.astype(dtype), np.asarray(high, dtype))


@converter("FAKE_QUANT", dtypes=("float32",))
def convert_fake_quant(ctx: Context) -> Any:
    """Round float32 values to evenly spaced ones that include 0; half away from the lowest.

    NaN becomes the lowest value. Source: FakeQuantizeArray of TFLite's
    kernels/internal/quantization_util.h.
    """
    scale, low, high = _grid(ctx.options)
    data = ctx.array(0)
    distance: Any = np.minimum(np.where(data >= low, data, low), high) - low
    steps = distance * (np.float32(1) / scale)
    # In float64 adding a half is exact, and a fused multiply-add cannot skip the product's
    # rounding.
    whole = np.floor(steps.astype("float64") + 0.5)
    return rounded((whole * float(scale)).astype("float32") + low)


def _grid(options: Options) -> tuple[np.float32, np.float32, np.float32]:
    """Return the distance of neighbours, and the lowest and the highest value."""
    low, high, bits = np.float32(options.min), np.float32(options.max), options.num_bits
    if options.narrow_range:
        raise UnsupportedError("a narrow range, which LiteRT does not take")
    if not 1 <= bits <= 16:
        raise QnnError(f"num_bits must be 1 to 16, got {bits}")
    most = np.float32(2**bits - 1)
    with np.errstate(all="ignore"):
        scale = (high - low) / most
        is_usable = 0 < scale < np.inf and 1 / scale < np.inf
    if not is_usable:
        raise QnnError(f"values from {low} to {high} have no {bits} bits")
    zero = np.clip(round_half_away(-low / scale), 0, most)
    return scale, (0 - zero) * scale, (most - zero) * scale
