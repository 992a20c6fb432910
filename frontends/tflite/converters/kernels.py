"""Weights and biases, as convolutions and dense layers have them."""

from __future__ import annotations

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.model import Tensor
from qnn_ops.errors import QnnError


def check_kernel(data: Tensor, kernel: Tensor, result: Tensor) -> None:
    """Raise unless data, kernel and result are all int8 or all uint8, as TFLite needs them."""
    dtypes = [tensor.dtype for tensor in (data, kernel, result)]
    if len(set(dtypes)) > 1:
        raise UnsupportedError(f"{dtypes[0]} data, {dtypes[1]} weights and {dtypes[2]} result")
    quantization = kernel.quantization
    if kernel.dtype == "uint8" and quantization is not None and quantization.is_per_channel:
        raise UnsupportedError(f"uint8 weights with a scale per channel ({kernel.label})")


def bias_of(ctx: Context, position: int) -> relax.Expr | None:
    """Return the bias at an optional input, None if it is left out."""
    if not ctx.has(position):
        return None
    bias = ctx.weights(position)
    check_bias(bias.tensor)
    return bias.expr


def check_bias(bias: Tensor) -> None:
    """Raise unless a bias has the type of the sums to which it is added."""
    if bias.dtype != "int32":
        raise QnnError(f"the bias {bias.label} must be int32, got {bias.dtype}")
