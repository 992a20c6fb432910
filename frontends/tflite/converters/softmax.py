"""SOFTMAX."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.registry import converter, float_converter, int16_converter
from frontends.tflite.options import SoftmaxOptions
from qnn_ops import QnnError, quantized_softmax
from qnn_ops.quantized_softmax import output_quantization


@int16_converter("SOFTMAX")
@converter("SOFTMAX")
def convert_softmax(ctx: Context) -> relax.Expr:
    """Apply softmax along the last axis."""
    data, result = ctx.input(0), ctx.output()
    if 0 in data.shape:
        return R.zeros(data.shape, result.dtype)
    quantization = per_tensor(result)
    if result.dtype == "uint8" or data.tensor.dtype != result.dtype:  # LiteRT does not read it then
        quantization = output_quantization(data.tensor.dtype, result.dtype)
    return quantized_softmax(
        data.expr,
        *data.quantization,
        *quantization,
        result.dtype,
        beta=ctx.options(SoftmaxOptions).beta,
    )


@float_converter("SOFTMAX")
def convert_float_softmax(ctx: Context) -> relax.Expr:
    """Apply softmax along the last axis; beta multiplies the distances from the largest."""
    beta = relax.const(ctx.options(SoftmaxOptions).beta, "float32")
    data = _rows(ctx)
    if 0 in ctx.input(0).shape:
        return R.zeros(ctx.input(0).shape, "float32")
    below = R.subtract(data, ctx.builder.emit(R.max(data, [-1], keepdims=True)))
    powers = ctx.builder.emit(R.exp(R.multiply(below, beta)))
    return R.divide(powers, ctx.builder.emit(R.sum(powers, [-1], keepdims=True)))


@float_converter("LOG_SOFTMAX")
def convert_float_log_softmax(ctx: Context) -> relax.Expr:
    """Apply the logarithm of softmax along the last axis."""
    data = _rows(ctx)
    if 0 in ctx.input(0).shape:
        return R.zeros(ctx.input(0).shape, "float32")
    below = ctx.builder.emit(R.subtract(data, ctx.builder.emit(R.max(data, [-1], keepdims=True))))
    total = ctx.builder.emit(R.sum(R.exp(below), [-1], keepdims=True))
    return R.subtract(below, R.log(total))


def _rows(ctx: Context) -> relax.Expr:
    """Return the data.

    Raises:
        QnnError: they are a scalar, of which LiteRT gives what memory holds.
    """
    data = ctx.input(0)
    if not data.shape:
        raise QnnError(f"{data.tensor.label} is a scalar, which has no last axis")
    return data.expr
