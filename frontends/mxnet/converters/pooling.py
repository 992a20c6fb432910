"""Pooling of floats."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.pooling_windows import Windows, pooling_windows
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.converters.windows import image_layout

_GLOBAL = {"max": R.max, "avg": R.mean, "sum": R.sum}


@converter("Pooling", "Pooling_v1")
def convert_pooling(ctx: Context) -> relax.Expr:
    """Return the maximum, mean or sum of each window of an image, or of the whole image."""
    kind = ctx.attrs.text("pool_type", "max", tuple(_GLOBAL))
    layout = image_layout(ctx)
    data = ctx.expr(0)
    if ctx.attrs.flag("global_pool", False):
        return _GLOBAL[kind](data, [layout.index("H"), layout.index("W")], keepdims=True)
    windows = pooling_windows(ctx, layout)
    if kind == "max":
        return R.nn.max_pool2d(
            data, windows.size, windows.strides, list(windows.padding), layout=layout
        )
    return _mean(ctx, windows, layout, is_sum=kind == "sum")


def _mean(ctx: Context, windows: Windows, layout: str, *, is_sum: bool) -> relax.Expr:
    taps = windows.size[0] * windows.size[1]
    mean = R.nn.avg_pool2d(
        ctx.expr(0),
        windows.size,
        windows.strides,
        list(windows.padding),
        count_include_pad=True,
        layout=layout,
    )
    if is_sum:
        return R.multiply(mean, relax.const(np.float32(taps)))
    if (windows.counts == taps).all():
        return mean
    factors = (taps / windows.counts).astype(np.float32)
    spatial = [slice(None) if letter in "HW" else None for letter in layout]
    return R.multiply(mean, ctx.parameter(factors[tuple(spatial)], "_factors"))
