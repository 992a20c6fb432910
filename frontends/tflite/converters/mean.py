"""MEAN."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.plain import zero_points
from frontends.tflite.converters.reductions import reduced
from frontends.tflite.converters.registry import (
    converter,
    int16_converter,
    unscaled_converter,
)
from qnn_ops import quantized_mean
from qnn_ops.registry import spec_of


@int16_converter("MEAN")
@converter("MEAN")
def convert_mean(ctx: Context) -> relax.Expr:
    """Return the mean along constant axes."""
    data, result = ctx.input(0), ctx.output()
    encodings = (*data.quantization, *per_tensor(result), result.dtype)
    return reduced(ctx, lambda expr, axes, keep: quantized_mean(expr, axes, keep, *encodings))


@unscaled_converter("MEAN", "SUM")
def convert_unscaled_mean(ctx: Context) -> relax.Expr:
    """Return the result's zero point: of scales that are 0, LiteRT makes a multiplier of 0."""

    def fill(expr: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return zero_points(ctx.output(), spec_of(ctx.builder.typed(R.max(expr, axes, keep))).shape)

    return reduced(ctx, fill)
