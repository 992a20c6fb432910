"""RELU, RELU6, RELU_0_TO_1 and RELU_N1_TO_1 as operators of their own."""

from __future__ import annotations

from tvm import relax

from frontends.tflite.converters.activations import activate
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.registry import converter, float_converter, int16_converter
from qnn_ops import quantized_relu, requantize

_CODES = ("RELU", "RELU6", "RELU_N1_TO_1")


@int16_converter("RELU", "RELU6")
@converter(*_CODES, "RELU_0_TO_1")
def convert_relu(ctx: Context) -> relax.Expr:
    """Return a clamp, and a change of scale where the output has another."""
    data, result = ctx.input(0), ctx.output()
    kind = ctx.operator.code.lower()
    expr, encoding, wanted = data.expr, data.quantization, per_tensor(result)
    if ctx.model.semantics == "tflm":
        # RELU's multiplier is float64's quotient, as QUANTIZE's; RELU6 leaves the scale as it is.
        if kind == "relu" and encoding != wanted:
            expr = ctx.builder.emit(requantize(expr, *encoding, *wanted, result.dtype))
            encoding = wanted
        wanted = encoding
    return quantized_relu(expr, *encoding, *wanted, result.dtype, kind=kind)


@float_converter(*_CODES)
def convert_float_relu(ctx: Context) -> relax.Expr:
    """Return a clamp."""
    return activate(ctx.operator.code, ctx.input(0).expr)
