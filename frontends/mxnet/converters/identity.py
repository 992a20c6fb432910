"""Operators that give what they get, outside of training."""

from __future__ import annotations

from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.values import Value


@converter(
    "BlockGrad",
    "LinearRegressionOutput",
    "MAERegressionOutput",
    "MakeLoss",
    "_copy",
    "_identity_with_attr_like_rhs",
    "identity",
    "make_loss",
    "stop_gradient",
)
def convert_identity(ctx: Context) -> Value:
    """Return the first input."""
    return ctx.operand(0).read()


@converter("Dropout")
def convert_dropout(ctx: Context) -> Value:
    """Return the input: nothing is dropped outside of training."""
    if ctx.attrs.text("mode", "training", ("always", "training")) == "always":
        raise UnsupportedError("mode always draws random numbers")
    return ctx.operand(0).read()


@converter("LogisticRegressionOutput")
def convert_logistic_regression_output(ctx: Context) -> Value:
    """Return the sigmoid before a loss."""
    return R.sigmoid(ctx.expr(0))
