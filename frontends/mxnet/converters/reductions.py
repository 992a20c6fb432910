"""Sums, means and extremes along axes, and normalizations of floats."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context, Rule, converter
from frontends.mxnet.scalars import Array
from frontends.ranges import index_of
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.checks import check_axis
from qnn_ops.errors import QnnError

_Function = Callable[..., relax.Expr]


def _reduced(function: _Function) -> Rule:
    def convert(ctx: Context) -> relax.Expr:
        keepdims = ctx.attrs.flag("keepdims", False)
        return _of_rank_one(ctx, function(ctx.expr(0), _axes(ctx), keepdims=keepdims))

    return convert


for _function, _names in {
    R.max: ("max", "max_axis"),
    R.mean: ("mean",),
    R.min: ("min", "min_axis"),
    R.prod: ("prod",),
    R.sum: ("sum", "sum_axis"),
}.items():
    converter(*_names)(_reduced(_function))


def _axes(ctx: Context) -> list[int]:
    """Return the axes to reduce: the named axes or, with exclude, all others; all by default."""
    rank = ctx.rank
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


@converter("argmax_channel")
def convert_argmax_channel(ctx: Context) -> relax.Expr:
    """Find the index of the largest value of each row, as a float."""
    return R.astype(index_of(R.argmax, ctx.expr(0), check_axis(1, ctx.rank)), "float32")


@converter("argmax", "argmin")
def convert_extreme(ctx: Context) -> relax.Expr:
    """Find the index of the largest or smallest value, the first of equal ones, as a float."""
    axis, function = ctx.axis() if ctx.attrs.has("axis") else None, getattr(R, ctx.node.op)
    index = index_of(function, ctx.expr(0), axis, ctx.attrs.flag("keepdims", False))
    return _of_rank_one(ctx, R.astype(index, "float32"))


_EPSILON = 1e-3


@converter("BatchNorm", "BatchNorm_v1", "CuDNNBatchNorm")
def convert_batch_norm(ctx: Context) -> Any:
    """Subtract the running mean, multiply by gamma / the running deviation, and add beta."""
    if ctx.attrs.flag("output_mean_var", False):
        raise UnsupportedError("the mean and variance as outputs are of use in training only")
    shape, axis = ctx.shape(0), ctx.axis(1)
    gamma, beta, mean, variance = (_channels(ctx, index, shape[axis]) for index in range(1, 5))
    if ctx.attrs.flag("fix_gamma", True):
        gamma = np.ones_like(gamma)
    with np.errstate(all="ignore"):
        deviation = np.sqrt(variance + np.float32(ctx.attrs.real("eps", _EPSILON)))
        scale = (gamma / deviation).astype(np.float32)
    if not np.isfinite(scale).all():
        raise QnnError(f"{ctx.names[4]!r} must not be negative, less eps")
    around = [-1 if index == axis else 1 for index in range(len(shape))]
    centre, factor, addend = (
        ctx.builder.array(ctx.parameter(array.reshape(around), suffix))
        for array, suffix in ((mean, "_mean"), (scale, "_scale"), (beta, "_beta"))
    )
    return rounded((ctx.array(0) - centre) * factor) + addend


def _channels(ctx: Context, position: int, count: int) -> Array:
    """Return a parameter of one value per channel."""
    values = ctx.constant(position)
    ctx.check_shape(position, (count,))
    return values.astype(np.float32)


@converter("L2Normalization")
def convert_l2_normalization(ctx: Context) -> Any:
    """Divide by the L2 norm of an item, a pixel or a channel."""
    kinds = {"channel": [1], "instance": [*range(1, ctx.rank)], "spatial": [*range(2, ctx.rank)]}
    axes = kinds[ctx.attrs.text("mode", "instance", tuple(kinds))]
    if not axes or ctx.rank <= max(axes):
        raise QnnError(f"the data must have more dimensions, got shape {ctx.shape(0)}")
    data = ctx.array(0)
    squares = np.square(data).sum(axes, np.float32, True)
    return data / np.sqrt(squares + ctx.attrs.real("eps", 1e-10))


@converter("LRN")
def convert_lrn(ctx: Context) -> Any:
    """Divide by a power of the squares in a window of neighbouring channels."""
    shape, size = ctx.shape(0), ctx.attrs.integer("nsize")
    if len(shape) != 4 or size < 1 or size % 2 == 0:
        raise QnnError(
            f"the data must have 4 dimensions and nsize be odd, got shape {shape} and {size}"
        )
    # The mean of a window of rows of an image whose rows are the channels.
    data, pad = ctx.array(0), size // 2
    rows = np.square(data).reshape(shape[0], 1, shape[1], prod(shape[2:])).expr
    means = R.nn.avg_pool2d(rows, (size, 1), padding=(pad, 0, pad, 0), count_include_pad=True)
    alpha, beta = ctx.attrs.real("alpha", 1e-4), ctx.attrs.real("beta", 0.75)
    total = data.to(means).reshape(*shape) * alpha + ctx.attrs.real("knorm", 2)
    return data * total**-beta


@converter("InstanceNorm")
def convert_instance_norm(ctx: Context) -> Any:
    """Normalize by each channel's own mean and deviation, times gamma, plus beta."""
    if ctx.rank < 3:
        raise QnnError(f"the data must have at least 3 dimensions, got shape {ctx.shape(0)}")
    return _normalized(ctx, list(range(2, ctx.rank)), 1, 1e-3)


@converter("LayerNorm")
def convert_layer_norm(ctx: Context) -> Any:
    """Normalize by the mean and deviation along an axis, times gamma, plus beta."""
    if ctx.attrs.flag("output_mean_var", False):
        raise UnsupportedError("the mean and variance as outputs are of use in training only")
    axis = ctx.axis(-1)
    return _normalized(ctx, [axis], axis, 1e-5)


def _normalized(ctx: Context, axes: list[int], channels: int, epsilon: float) -> Any:
    shape = ctx.shape(0)
    around = [size if axis == channels else 1 for axis, size in enumerate(shape)]
    for position in (1, 2):
        ctx.check_shape(position, (shape[channels],))
    data, gamma, beta = (ctx.array(0), *(ctx.array(i).reshape(*around) for i in (1, 2)))
    centred = data - data.to(R.mean(data.expr, axes, keepdims=True))
    variance = data.to(R.mean(np.square(centred).expr, axes, keepdims=True))
    return centred / np.sqrt(variance + ctx.attrs.real("eps", epsilon)) * gamma + beta
