"""BATCH_MATMUL."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context
from frontends.tflite.converters.registry import float_converter
from frontends.tflite.options import BatchMatMulOptions
from qnn_ops.errors import QnnError

_MOST_DIMENSIONS = 5  # that LiteRT takes


@float_converter("BATCH_MATMUL")
def convert_float_batch_matmul(ctx: Context) -> relax.Expr:
    """Multiply matrices, of which one or both may be transposed before."""
    options = ctx.options(BatchMatMulOptions)
    lhs, rhs = ctx.input(0), ctx.input(1)
    shape = result_shape(lhs.shape, rhs.shape, options)
    if 0 in shape:
        return R.zeros(shape, "float32")
    left, right = lhs.expr, rhs.expr
    if options.adj_x:
        left = ctx.builder.emit(R.permute_dims(left, swapped(len(lhs.shape))))
    if options.adj_y:
        right = ctx.builder.emit(R.permute_dims(right, swapped(len(rhs.shape))))
    return R.matmul(left, right)


def swapped(rank: int) -> list[int]:
    """Return the order of axes that transposes matrices."""
    return [*range(rank - 2), rank - 1, rank - 2]


def result_shape(
    lhs: tuple[int, ...], rhs: tuple[int, ...], options: BatchMatMulOptions
) -> tuple[int, ...]:
    """Return the shape of a product.

    Raises:
        QnnError: the operands do not go together.
    """
    if not all(2 <= len(shape) <= _MOST_DIMENSIONS for shape in (lhs, rhs)):
        raise QnnError(f"must have operands of 2 to 5 dimensions, got {lhs} and {rhs}")
    rows, depth = reversed(lhs[-2:]) if options.adj_x else lhs[-2:]
    inner, columns = reversed(rhs[-2:]) if options.adj_y else rhs[-2:]
    try:
        batches = np.broadcast_shapes(lhs[:-2], rhs[:-2])
    except ValueError:
        batches = None
    if depth != inner or batches is None:
        raise QnnError(f"operands of shapes {lhs} and {rhs} have no product")
    return (*batches, rows, columns)
