"""CUMSUM."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.splits import split
from frontends.tflite.converters.context import Context, axis_of
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import CumsumOptions

_MOST_FLOATS = 128  # each of them is a step of its own


@data_converter("CUMSUM")
def convert_cumsum(ctx: Context) -> relax.Expr:
    """Add up along an axis, from its begin or from its end."""
    options, data = ctx.options(CumsumOptions), ctx.input(0)
    dtype, shape = data.tensor.dtype, data.shape
    axis = axis_of(ctx.integer(1), len(shape))
    if 0 in shape:
        return R.zeros(shape, dtype)
    expr = ctx.builder.emit(R.flip(data.expr, axis)) if options.reverse else data.expr
    if options.exclusive:
        expr = _moved(ctx, expr, shape, axis, 1)
    if dtype == "float32":
        sums = _one_by_one(ctx, expr, shape, axis)
    elif dtype in ("int32", "int64"):
        sums = _by_doubling(ctx, expr, shape, axis)
    else:
        raise UnsupportedError(f"of {dtype}")
    return R.flip(ctx.builder.emit(sums), axis) if options.reverse else sums


def _moved(
    ctx: Context, expr: relax.Expr, shape: Sequence[int], axis: int, count: int
) -> relax.Expr:
    """Move elements on, with zeros behind them."""
    size = shape[axis]
    zeros = R.zeros([*shape[:axis], min(count, size), *shape[axis + 1 :]], ctx.output().dtype)
    if count >= size:
        return zeros
    first = R.strided_slice(expr, [axis], [0], [size - count])
    return ctx.builder.emit(R.concat([zeros, ctx.builder.emit(first)], axis))


def _by_doubling(ctx: Context, expr: relax.Expr, shape: Sequence[int], axis: int) -> relax.Expr:
    """Add up integers, which are the same in any order, in as many steps as the size has bits."""
    count = 1
    while count < shape[axis]:
        expr = ctx.builder.emit(R.add(expr, _moved(ctx, expr, shape, axis, count)))
        count *= 2
    return expr


def _one_by_one(ctx: Context, expr: relax.Expr, shape: Sequence[int], axis: int) -> relax.Expr:
    """Add up in the order in which LiteRT does."""
    if shape[axis] > _MOST_FLOATS:
        raise UnsupportedError(f"of {shape[axis]} numbers of float32")
    sums: list[relax.Expr] = []
    for part in split(ctx.builder, expr, [1] * shape[axis], axis):
        sums.append(ctx.builder.emit(R.add(sums[-1], part)) if sums else ctx.builder.emit(part))
    return R.concat(sums, axis) if len(sums) > 1 else sums[0]
