"""PAD and PADV2."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import converter, float_converter, int16_converter
from qnn_ops import QnnError, quantized_pad


@int16_converter("PAD", "PADV2")
@converter("PAD", "PADV2")
def convert_pad(ctx: Context) -> relax.Expr:
    """Pad with zeros (the zero point) or with a given constant."""
    value = per_tensor(ctx.output())[1]
    if ctx.has(2):
        check_same_quantization(ctx.tensor(2), ctx.output())
        value = ctx.integer(2, (ctx.output().dtype,))
    data = ctx.input(0)
    return quantized_pad(data.expr, _widths(ctx, len(data.shape)), value)


@float_converter("PAD", "PADV2")
def convert_float_pad(ctx: Context) -> relax.Expr:
    """Pad with zeros or with a given constant."""
    data, value = ctx.input(0), 0.0
    if ctx.has(2):
        values = ctx.constant(2)
        if values.dtype != np.float32 or values.size != 1:
            raise QnnError(f"input 2, {ctx.tensor(2).label}, must be one float32")
        value = float(values.item())
    return R.nn.pad(data.expr, _widths(ctx, len(data.shape)), pad_value=value)


def _widths(ctx: Context, rank: int) -> list[int]:
    widths = ctx.constant(1)
    if widths.shape != (rank, 2):
        raise QnnError(f"paddings must have shape ({rank}, 2), got {widths.shape}")
    return list(ctx.integers(1, ("int32", "int64", "int16", "int8")))
