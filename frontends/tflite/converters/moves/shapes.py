"""SHAPE, RANK, BROADCAST_ARGS and WHERE, which are computed when a model is imported."""

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.ranges import of_sizes
from frontends.tflite.converters.context import Context
from frontends.tflite.operators import UNKNOWN_SHAPE, converter
from qnn_ops.dialect.known_values import equal
from qnn_ops.dialect.sizes import broadcast
from qnn_ops.errors import QnnError


@converter("BROADCAST_ARGS", kind="known")
def convert_broadcast_args(ctx: Context) -> relax.Expr:
    """Broadcast two shapes."""
    shapes = [ctx.integers(index, ("int32", "int64")) for index in (0, 1)]
    try:
        sizes = broadcast(*shapes)
    except ValueError as error:
        raise QnnError(str(error)) from error
    return _sizes(ctx, sizes, ctx.tensor(0).dtype)


@converter("RANK", kind="known", of_shape=True)
def convert_rank(ctx: Context) -> relax.Expr:
    """Count the axes."""
    return relax.const(np.int32(len(ctx.input(0).sizes)))


@converter("SHAPE", kind="known", of_shape=True)
def convert_shape(ctx: Context) -> relax.Expr:
    """Return the sizes."""
    return _sizes(ctx, ctx.input(0).sizes, ctx.options.out_type)


def _sizes(ctx: Context, sizes: tuple[int, ...], dtype: str) -> relax.Expr:
    return R.astype(of_sizes(ctx.builder, np.array(sizes, object)), dtype)


@converter("WHERE", kind="known", refusal=UNKNOWN_SHAPE)
def convert_where(ctx: Context) -> relax.Expr:
    """List the indices of elements other than 0."""
    data = ctx.constant(0)
    if not data.ndim:
        raise UnsupportedError(f"{ctx.tensor(0).label} is a scalar")
    is_zero = equal(data, np.zeros((), data.dtype))  # an open size itself is not false
    return relax.const(np.argwhere(np.logical_not(is_zero)), "int64")
