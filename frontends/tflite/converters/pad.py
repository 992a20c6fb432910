"""PAD and PADV2."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import (
    converter,
    float_converter,
    int16_converter,
    whole_converter,
)
from qnn_ops import QnnError, quantized_pad
from qnn_ops.registry import spec_of


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


@whole_converter("PAD", "PADV2")
def convert_whole_pad(ctx: Context) -> relax.Expr:
    """Pad integers or bool with zeros or with a given constant."""
    data, dtype, value = ctx.input(0), ctx.output().dtype, 0
    if ctx.has(2):
        value = ctx.integer(2, (dtype,))
    wide = "int8" if dtype == "bool" else dtype
    rank = len(data.shape)
    widths = np.reshape(_widths(ctx, rank), (rank, 2))
    if np.any(widths < 0):
        raise QnnError(f"paddings must not be negative, got {widths.tolist()}")
    result = R.astype(data.expr, wide)
    for axis, (before, after) in enumerate(widths.tolist()):
        parts = [result]
        for position, width in ((0, before), (2, after)):
            shape = list(spec_of(ctx.builder.typed(result)).shape)
            shape[axis] = width
            if width:
                full = ctx.builder.emit(R.full(shape, relax.const(value, wide), wide))
                parts.insert(position, full)
        result = ctx.builder.emit(R.concat(parts, axis)) if len(parts) > 1 else result
    return R.astype(result, dtype)


def _widths(ctx: Context, rank: int) -> list[int]:
    widths = ctx.constant(1)
    if widths.shape != (rank, 2):
        raise QnnError(f"paddings must have shape ({rank}, 2), got {widths.shape}")
    return list(ctx.integers(1, ("int32", "int64", "int16", "int8")))
