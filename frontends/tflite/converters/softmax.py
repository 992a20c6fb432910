"""SOFTMAX."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.registry import converter, float_converter
from frontends.tflite.options import SoftmaxOptions
from qnn_ops import quantized_softmax


@converter("SOFTMAX")
def convert_softmax(ctx: Context) -> relax.Expr:
    """Apply softmax along the last axis."""
    data, result = ctx.input(0), ctx.output()
    if 0 in data.shape:
        return R.zeros(data.shape, result.dtype)
    return quantized_softmax(
        data.expr,
        *data.quantization,
        *per_tensor(result),
        result.dtype,
        beta=ctx.options(SoftmaxOptions).beta,
    )


@float_converter("SOFTMAX")
def convert_float_softmax(ctx: Context) -> relax.Expr:
    """Apply softmax along the last axis."""
    beta = relax.const(ctx.options(SoftmaxOptions).beta, "float32")
    return R.nn.softmax(R.multiply(ctx.input(0).expr, beta))
