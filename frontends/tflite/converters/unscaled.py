"""Operators of one operand that reads a scale where the file states none: LiteRT reads 0."""

from __future__ import annotations

from tvm import relax

from frontends.tflite.converters.context import Context
from frontends.tflite.converters.plain import check_one_scale, with_least_scale, zero_points
from frontends.tflite.converters.registry import (
    INT16,
    QUANTIZED,
    unscaled_converter,
)

_RESCALING = (*("HARD_SWISH", "LEAKY_RELU", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1"),)
# Of the others LiteRT takes what memory held for the scale, or ends.
_FUNCTIONS = {
    "int8": ("EXP", "GELU", "L2_NORMALIZATION", "LOGISTIC", "TANH"),
    "uint8": ("GELU", "L2_NORMALIZATION", "LOGISTIC", "TANH"),
    "int16": ("EXP", "GELU", "SOFTMAX"),
}


@unscaled_converter(*_RESCALING)
def convert_rescaling(ctx: Context) -> relax.Expr:
    """Return the result's zero point: the multiplier from scale to scale is 0."""
    return zero_points(ctx.output(), ctx.input(0).shape)


@unscaled_converter(*_FUNCTIONS["int8"], *_FUNCTIONS["int16"])
def convert_function_of_zero(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Return a function of data that all stand for 0, or whose scale it does not read."""
    code, data, result = ctx.operator.code, ctx.tensor(0), ctx.output()
    check_one_scale([result] if code in _FUNCTIONS[result.dtype] else [data, result])
    return with_least_scale((INT16 if result.dtype == "int16" else QUANTIZED)[code])(ctx)
