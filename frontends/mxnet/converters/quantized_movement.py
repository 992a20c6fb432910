"""_contrib_quantized_flatten and _contrib_quantized_act: the range stays what it was."""

from __future__ import annotations

from math import prod

from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.quantization import check_quantized, range_at
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.values import Value
from qnn_ops import quantized_relu


@converter("_contrib_quantized_flatten")
def convert_quantized_flatten(ctx: Context) -> list[Value]:
    """Make one axis of all but the first."""
    shape, bounds = ctx.shape(0), range_at(ctx, 1)
    flat = R.reshape(ctx.expr(0), (shape[0], prod(shape[1:])))
    return [flat, bounds.low, bounds.high]


@converter("_contrib_quantized_act")
def convert_quantized_act(ctx: Context) -> list[Value]:
    """Rectify int8; the result keeps the dtype, and a lower half that it does not use.

    MXNet calls the result int8 whatever the data are. What then becomes of uint8 data depends on
    their layout in memory: their bytes are taken for signed, or their values count twice.
    """
    kind = ctx.attrs.text("act_type")
    if kind != "relu":
        raise UnsupportedError(f"act_type {kind}")
    dtype, bounds = check_quantized(ctx, 0), range_at(ctx, 1)
    if dtype != "int8":
        raise UnsupportedError(f"data of {dtype}, of which MXNet takes the result for int8")
    # Any one scale: the values stay as they are, but for the clamp.
    rectified = quantized_relu(ctx.expr(0), 1.0, 0, 1.0, 0, dtype)
    return [rectified, bounds.low, bounds.high]
