"""Activation and LeakyReLU of floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.converters.unary import UNARY
from qnn_ops.errors import QnnError

_ACTIVATIONS = ("relu", "sigmoid", "softrelu", "softsign", "tanh")

# As MXNet has them.
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@converter("Activation")
def convert_activation(ctx: Context) -> relax.Expr:
    """Return the function that act_type names."""
    return UNARY[ctx.attrs.text("act_type", None, _ACTIVATIONS)](ctx.expr(0))


@converter("LeakyReLU")
def convert_leaky_relu(ctx: Context) -> relax.Expr:
    """Return the positive part, and of the negative one what act_type names."""
    return _LEAKY[ctx.attrs.text("act_type", "leaky", tuple(_LEAKY))](ctx)


def _leaky(ctx: Context) -> relax.Expr:
    return R.nn.leakyrelu(ctx.expr(0), ctx.attrs.real("slope", 0.25))


def _randomized(ctx: Context) -> relax.Expr:
    # Outside of training, the slope is the mean of those that are drawn.
    low, high = ctx.attrs.real("lower_bound", 0.125), ctx.attrs.real("upper_bound", 0.334)
    return R.nn.leakyrelu(ctx.expr(0), (low + high) / 2)


def _exponential(x: relax.Expr, scale: float, alpha: float) -> relax.Expr:
    one, zero = (relax.const(np.float32(value)) for value in (1, 0))
    below = R.multiply(R.subtract(R.exp(x), one), relax.const(np.float32(scale * alpha)))
    above = x if scale == 1 else R.multiply(x, relax.const(np.float32(scale)))
    return R.where(R.greater(x, zero), above, below)


def _parametric(ctx: Context) -> relax.Expr:
    """Apply one slope to all, or one per channel."""
    x, slope = ctx.expr(0), ctx.expr(1)
    rank, channels = len(ctx.shape(0)), ctx.shape(0)[1:2]
    if ctx.shape(1) not in ((1,), channels):
        raise QnnError(f"gamma must have shape (1,) or {channels}, got {ctx.shape(1)}")
    if rank > 1:
        slope = R.reshape(slope, [1, ctx.shape(1)[0], *[1] * (rank - 2)])
    return R.where(R.greater(x, relax.const(np.float32(0))), x, R.multiply(x, slope))


_LEAKY: dict[str, Callable[[Context], relax.Expr]] = {
    "elu": lambda ctx: _exponential(ctx.expr(0), 1, ctx.attrs.real("slope", 0.25)),
    "gelu": lambda ctx: R.nn.gelu(ctx.expr(0)),
    "leaky": _leaky,
    "prelu": _parametric,
    "rrelu": _randomized,
    "selu": lambda ctx: _exponential(ctx.expr(0), _SELU_SCALE, _SELU_ALPHA),
}
