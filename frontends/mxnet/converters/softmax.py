"""Softmax of floats, by all its names."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from qnn_ops.checks import check_axis
from qnn_ops.errors import QnnError

_Function = Callable[[relax.Expr, int], relax.Expr]


@converter("softmax")
def convert_softmax(ctx: Context) -> relax.Expr:
    """Divide exponentials by their sum along an axis."""
    return _along_axis(ctx, R.nn.softmax)


@converter("log_softmax")
def convert_log_softmax(ctx: Context) -> relax.Expr:
    """Return the logarithm of softmax."""
    return _along_axis(ctx, R.nn.log_softmax)


def _along_axis(ctx: Context, function: _Function) -> relax.Expr:
    if ctx.attrs.flag("use_length", False):
        raise UnsupportedError("use_length is not supported")
    if ctx.attrs.text("dtype", "float32") != "float32":
        raise UnsupportedError("only dtype float32 is supported")
    data, axis = ctx.expr(0), check_axis(ctx.attrs.integer("axis", -1), len(ctx.shape(0)))
    temperature = ctx.attrs.real("temperature", 1)
    if temperature <= 0:
        raise QnnError(f"attribute temperature must be positive, got {temperature}")
    if temperature != 1:
        data = R.divide(data, relax.const(np.float32(temperature)))
    return function(data, axis)


@converter("SoftmaxOutput", "Softmax")
def convert_softmax_output(ctx: Context) -> relax.Expr:
    """Compute the softmax before a loss, which ends a trained network; labels are not read."""
    if ctx.attrs.flag("multi_output", False):
        return R.nn.softmax(ctx.expr(0), check_axis(1, len(ctx.shape(0))))
    if ctx.attrs.flag("preserve_shape", False):
        return R.nn.softmax(ctx.expr(0), -1)
    shape = ctx.shape(0)
    rows = R.reshape(ctx.expr(0), (*shape[:1], prod(shape[1:])))
    return R.reshape(ctx.emit(R.nn.softmax(rows, 1)), shape)


@converter("SoftmaxActivation")
def convert_softmax_activation(ctx: Context) -> relax.Expr:
    """Apply softmax along the channels or, by mode instance, along the last axis.

    MXNet's documentation says that an instance is all that belongs to an item of the batch. That
    is not what it computes.
    """
    if ctx.attrs.text("mode", "instance", ("channel", "instance")) == "channel":
        return R.nn.softmax(ctx.expr(0), check_axis(1, len(ctx.shape(0))))
    return R.nn.softmax(ctx.expr(0), -1)
