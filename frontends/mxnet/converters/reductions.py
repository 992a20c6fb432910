"""Sums, means and extremes along axes."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from frontends.extremes import index_of
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from qnn_ops.checks import check_axis
from qnn_ops.errors import QnnError

_Function = Callable[..., relax.Expr]


def _register(function: _Function, names: tuple[str, ...]) -> None:
    @converter(*names)
    def convert(ctx: Context) -> relax.Expr:
        keepdims = ctx.attrs.flag("keepdims", False)
        return _of_rank_one(ctx, function(ctx.expr(0), _axes(ctx), keepdims=keepdims))


for _function, _names in {
    R.max: ("max", "max_axis"),
    R.mean: ("mean",),
    R.min: ("min", "min_axis"),
    R.prod: ("prod",),
    R.sum: ("sum", "sum_axis"),
}.items():
    _register(_function, _names)


def _axes(ctx: Context) -> list[int]:
    """Return the axes to reduce: the named ones or, with exclude, the others; all if none."""
    rank = len(ctx.shape(0))
    named = [check_axis(axis, rank) for axis in ctx.attrs.integers("axis", ())]
    if len(set(named)) != len(named):
        raise QnnError(f"attribute axis names an axis twice: {named}")
    if not named:
        return list(range(rank))
    if ctx.attrs.flag("exclude", False):
        return [axis for axis in range(rank) if axis not in named]
    return sorted(named)


def _of_rank_one(ctx: Context, result: relax.Expr) -> relax.Expr:
    # MXNet 1.x has no scalars: a single value has shape (1,).
    result = ctx.emit(result)
    return result if len(result.ty.shape.values) else R.reshape(result, [1])


@converter("argmax")
def convert_argmax(ctx: Context) -> relax.Expr:
    """Find the index of the largest value, the first of equal ones, as a float."""
    return _place(ctx, R.argmax)


@converter("argmin")
def convert_argmin(ctx: Context) -> relax.Expr:
    """Find the index of the smallest value, the first of equal ones, as a float."""
    return _place(ctx, R.argmin)


@converter("argmax_channel")
def convert_argmax_channel(ctx: Context) -> relax.Expr:
    """Find the index of the largest value of each row, as a float."""
    return R.astype(index_of(R.argmax, ctx.expr(0), check_axis(1, len(ctx.shape(0)))), "float32")


def _place(ctx: Context, function: _Function) -> relax.Expr:
    axis = ctx.attrs.integer("axis") if ctx.attrs.has("axis") else None
    if axis is not None:
        axis = check_axis(axis, len(ctx.shape(0)))
    place = index_of(function, ctx.expr(0), axis, ctx.attrs.flag("keepdims", False))
    return _of_rank_one(ctx, R.astype(place, "float32"))
