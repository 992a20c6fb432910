"""Operators that look rows up."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.convolution import check_weight
from frontends.mxnet.converters.registry import converter
from qnn_ops.checks import check_axis


@converter("Embedding")
def convert_embedding(ctx: Context) -> relax.Expr:
    """Take the row of the weight that each value names; of one outside, the first or last row."""
    rows = ctx.attrs.integer("input_dim")
    check_weight(ctx, (rows, ctx.attrs.integer("output_dim")))
    return R.take(ctx.expr(1), _indices(ctx, 0), 0, "clip")


@converter("take")
def convert_take(ctx: Context) -> relax.Expr:
    """Take the slices along an axis that values name; of one outside, the first or the last."""
    if ctx.attrs.text("mode", "clip") != "clip":
        raise UnsupportedError("only mode clip is supported")
    axis = check_axis(ctx.attrs.integer("axis", 0), len(ctx.shape(0)))
    return R.take(ctx.expr(0), _indices(ctx, 1), axis, "clip")


def _indices(ctx: Context, position: int) -> relax.Expr:
    # MXNet holds indices as floats, too.
    return R.astype(ctx.expr(position), "int32")
