"""FullyConnected and products of matrices, of floats."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.convolution import check_weight, with_bias
from frontends.mxnet.converters.registry import converter
from qnn_ops.errors import QnnError


@converter("FullyConnected")
def convert_fully_connected(ctx: Context) -> relax.Expr:
    """Multiply the last axis, or flattened data, by a matrix stored [outputs, inputs]."""
    shape, data = ctx.shape(0), ctx.expr(0)
    if not shape:
        raise QnnError("the data must have at least one dimension")
    if ctx.attrs.flag("flatten", True):
        shape = (shape[0], prod(shape[1:]))
        data = R.reshape(data, shape)
    outputs = ctx.attrs.integer("num_hidden")
    check_weight(ctx, (outputs, shape[-1]))
    known = ctx.known(1)
    if known is None:
        weight = R.permute_dims(ctx.expr(1))
    else:
        weight = ctx.parameter(np.ascontiguousarray(known.T), "_weight_transposed")
    result = R.matmul(data, weight)
    return with_bias(ctx, result, outputs, len(shape) - 1, len(shape))


@converter("dot")
def convert_dot(ctx: Context) -> relax.Expr:
    """Return the product of two matrices."""
    if len(ctx.shape(0)) != 2 or len(ctx.shape(1)) != 2:
        raise UnsupportedError(
            f"only matrices are supported, got shapes {ctx.shape(0)} and {ctx.shape(1)}"
        )
    return _product(ctx, [1, 0])


@converter("batch_dot")
def convert_batch_dot(ctx: Context) -> relax.Expr:
    """Multiply pairs of matrices."""
    if len(ctx.shape(0)) != 3 or len(ctx.shape(1)) != 3 or ctx.shape(0)[0] != ctx.shape(1)[0]:
        raise QnnError(
            f"the inputs must be equally many matrices, got {ctx.shape(0)} and {ctx.shape(1)}"
        )
    return _product(ctx, [0, 2, 1])


def _product(ctx: Context, axes: list[int]) -> relax.Expr:
    """Multiply both inputs, with ``axes`` as the order of axes of a transposed one."""
    names = ("transpose_a", "transpose_b")
    flags = [ctx.attrs.flag(name, False) for name in names]
    shapes = [
        [ctx.shape(position)[axis] for axis in axes] if flag else ctx.shape(position)
        for position, flag in enumerate(flags)
    ]
    if shapes[0][-1] != shapes[1][-2]:
        raise QnnError(f"matrices of {ctx.shape(0)} and {ctx.shape(1)} have no product")
    lhs, rhs = (
        R.permute_dims(data, axes) if flag else data
        for data, flag in zip((ctx.expr(0), ctx.expr(1)), flags, strict=True)
    )
    return R.matmul(lhs, rhs)
