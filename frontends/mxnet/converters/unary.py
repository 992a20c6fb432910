"""Functions of one float."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter


def _const(value: float) -> relax.Expr:
    return relax.const(np.float32(value))


UNARY: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "abs": R.abs,
    "ceil": R.ceil,
    "erf": R.erf,
    "exp": R.exp,
    "floor": R.floor,
    "log": R.log,
    "negative": R.negative,
    "reciprocal": lambda x: R.divide(_const(1), x),
    "relu": R.nn.relu,
    "rsqrt": R.rsqrt,
    "sigmoid": R.sigmoid,
    "sign": R.sign,
    "softrelu": R.nn.softplus,
    "softsign": lambda x: R.divide(x, R.add(R.abs(x), _const(1))),
    "sqrt": R.sqrt,
    "square": R.square,
    "tanh": R.tanh,
}
"""By MXNet's name."""


def _register(name: str, function: Callable[[relax.Expr], relax.Expr]) -> None:
    @converter(name)
    def convert(ctx: Context) -> relax.Expr:
        return function(ctx.expr(0))


for _name, _function in UNARY.items():
    if _name != "softrelu":  # which is the name of an act_type only
        _register(_name, _function)


@converter("hard_sigmoid")
def convert_hard_sigmoid(ctx: Context) -> relax.Expr:
    """Return a line, between 0 and 1."""
    alpha, beta = ctx.attrs.real("alpha", 0.2), ctx.attrs.real("beta", 0.5)
    return R.clip(R.add(R.multiply(ctx.expr(0), _const(alpha)), _const(beta)), 0, 1)


@converter("clip")
def convert_clip(ctx: Context) -> relax.Expr:
    """Clamp to no less than a_min, no more than a_max."""
    low, high = ctx.attrs.real("a_min"), ctx.attrs.real("a_max")
    return R.clip(ctx.expr(0), low, high)
