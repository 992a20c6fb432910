"""MEAN."""

from __future__ import annotations

from tvm import relax

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.reductions import axes_of
from frontends.tflite.converters.registry import converter
from frontends.tflite.options import ReducerOptions
from qnn_ops import quantized_mean


@converter("MEAN")
def convert_mean(ctx: Context) -> relax.Expr:
    """The mean along constant axes."""
    data, result = ctx.input(0), ctx.output()
    return quantized_mean(
        data.expr,
        axes_of(ctx),
        ctx.options(ReducerOptions).keep_dims,
        *data.quantization,
        *per_tensor(result),
        result.dtype,
    )
