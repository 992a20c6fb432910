"""MEAN."""

from __future__ import annotations

from tvm import relax

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.reductions import reduced
from frontends.tflite.converters.registry import converter
from qnn_ops import quantized_mean


@converter("MEAN")
def convert_mean(ctx: Context) -> relax.Expr:
    """Return the mean along constant axes."""
    data, result = ctx.input(0), ctx.output()
    encodings = (*data.quantization, *per_tensor(result), result.dtype)
    return reduced(ctx, lambda expr, axes, keep: quantized_mean(expr, axes, keep, *encodings))
