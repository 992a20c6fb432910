"""Weights and biases, as convolutions and dense layers have them."""

from __future__ import annotations

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.model import Tensor
from qnn_ops.errors import QnnError


def check_kernel(data: Tensor, kernel: Tensor, result: Tensor) -> None:
    """Raise unless data, kernel and result are all int8 or all uint8, as TFLite needs them.

    Or else data and result are int16, and the kernel int8.
    """
    dtypes = [tensor.dtype for tensor in (data, kernel, result)]
    if len(set(dtypes)) > 1 and dtypes != ["int16", "int8", "int16"]:
        raise UnsupportedError(f"{dtypes[0]} data, {dtypes[1]} weights and {dtypes[2]} result")
    quantization = kernel.quantization
    if kernel.dtype == "uint8" and quantization is not None and quantization.is_per_channel:
        raise UnsupportedError(f"uint8 weights with a scale per channel ({kernel.label})")


def check_zero_point(kernel: Tensor, zero_point: int | list[int]) -> None:
    """Raise if an int8 kernel has a zero point other than 0, which TFLite does not take."""
    if kernel.dtype == "int8" and zero_point != 0:
        raise QnnError(f"{kernel.label} is an int8 kernel whose zero point is not 0")


def bias_of(ctx: Context, position: int, int16_type: str = "int64") -> relax.Expr | None:
    """Return the bias at an optional input, None if it is left out.

    Args:
        ctx: of a convolution or dense layer.
        position: of the bias.
        int16_type: of the bias, if the data is int16. TFLite reads another one as if it were this.
    """
    if not ctx.has(position):
        return None
    bias, wanted = ctx.weights(position), "int32"
    if ctx.tensor(0).dtype == "int16":
        wanted = int16_type
    check_bias(bias.tensor, wanted)
    return bias.expr


def check_bias(bias: Tensor, wanted: str = "int32") -> None:
    """Raise unless a bias has the type of the sums to which it is added."""
    if bias.dtype != wanted:
        raise QnnError(f"the bias {bias.label} must be {wanted}, got {bias.dtype}")


def int16_bias_type(stated: str) -> str:
    """Return the dtype of a bias beside int16 data, of which an operator's options say ``stated``.

    FLOAT32, the default, states nothing.
    """
    if stated not in ("float32", "int32", "int64"):
        raise QnnError(f"quantized_bias_type must be int32 or int64, got {stated}")
    return "int32" if stated == "int32" else "int64"
