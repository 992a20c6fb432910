"""PAD and PADV2."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import converter, float_converter
from qnn_ops import QnnError, quantized_pad


@converter("PAD", "PADV2")
def convert_pad(ctx: Context) -> relax.Expr:
    """Pads with zeros (the zero point) or with a given constant."""
    value = per_tensor(ctx.output())[1]
    if ctx.has(2):
        check_same_quantization(ctx.tensor(2), ctx.output())
        value = ctx.integer(2)
    data = ctx.input(0)
    return quantized_pad(data.expr, _widths(ctx, len(data.shape)), value)


@float_converter("PAD")
def convert_float_pad(ctx: Context) -> relax.Expr:
    """Pads with zeros."""
    data = ctx.input(0)
    return R.nn.pad(data.expr, _widths(ctx, len(data.shape)))


def _widths(ctx: Context, rank: int) -> list[int]:
    widths = ctx.constant(1)
    if widths.shape != (rank, 2):
        raise QnnError(f"paddings must have shape ({rank}, 2), got {widths.shape}")
    return list(ctx.integers(1))
