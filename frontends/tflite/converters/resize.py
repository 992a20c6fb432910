"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context
from frontends.tflite.converters.registry import converter
from frontends.tflite.options import ResizeBilinearOptions, ResizeNearestNeighborOptions
from qnn_ops import QnnError, quantized_resize2d


@converter("RESIZE_BILINEAR")
def convert_resize_bilinear(ctx: Context) -> relax.Expr:
    """Interpolate between the four nearest pixels."""
    return _resize(ctx, ctx.options(ResizeBilinearOptions), "bilinear")


@converter("RESIZE_NEAREST_NEIGHBOR")
def convert_resize_nearest_neighbor(ctx: Context) -> relax.Expr:
    """Copy the nearest pixel."""
    return _resize(ctx, ctx.options(ResizeNearestNeighborOptions), "nearest_neighbor")


def _resize(
    ctx: Context, options: ResizeBilinearOptions | ResizeNearestNeighborOptions, method: str
) -> relax.Expr:
    size = ctx.integers(1)
    if len(size) != 2:
        raise QnnError(f"the size must be height and width, got {size}")
    data = ctx.input(0)
    if len(data.shape) == 4 and 0 in (shape := (data.shape[0], *size, data.shape[3])):
        return R.zeros(shape, data.tensor.dtype)
    return quantized_resize2d(
        data.expr,
        size,
        method,
        align_corners=options.align_corners,
        half_pixel_centers=options.half_pixel_centers,
        layout="NHWC",
    )
