"""_contrib_quantized_pooling."""

from __future__ import annotations

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.pooling_windows import pooling_windows
from frontends.mxnet.converters.quantization import check_quantized, range_at
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.converters.windows import image_layout, image_size
from frontends.mxnet.values import Value
from qnn_ops import quantized_pool2d


@converter("_contrib_quantized_pooling")
def convert_quantized_pooling(ctx: Context) -> list[Value]:
    """Return the maximum or average of each window; the range stays what it was.

    An average divides by the size of its window, padding and what lies beyond it included, unless
    count_include_pad is false.
    """
    check_quantized(ctx, 0)
    layout = image_layout(ctx)
    kind = ctx.attrs.text("pool_type", "max", ("max", "avg"))
    bounds = range_at(ctx, 1)
    size, strides, padding = image_size(ctx, layout), (1, 1), (0, 0, 0, 0)
    if not ctx.attrs.flag("global_pool", False):
        windows = pooling_windows(ctx, layout)
        size, strides, padding = windows.size, windows.strides, windows.padding
    pooled = quantized_pool2d(
        ctx.expr(0),
        kind,
        size,
        strides,
        padding,
        layout,
        rounding="half_even" if kind == "avg" else "half_away",
        count_include_pad=kind == "avg" and ctx.attrs.flag("count_include_pad", True),
    )
    return [pooled, bounds.low, bounds.high]
