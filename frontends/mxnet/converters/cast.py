"""Changes of dtype, constants, and operators that return their input outside of training."""

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import CONVERTERS, Context, Rule, converter
from frontends.mxnet.scalars import Array, Value
from qnn_ops.errors import QnnError

_DTYPES = ("float32", "float16", "float64", "int32", "int64", "int8", "uint8")


@converter("Cast", "cast", "amp_cast")
def convert_cast(ctx: Context) -> relax.Expr:
    """Return the values in another dtype; integer dtypes drop the fraction of floats."""
    return R.astype(ctx.expr(0), _dtype(ctx))


@converter("_arange")
def convert_arange(ctx: Context) -> Array:
    """Count from start to stop by step, each value several times."""
    start, step = ctx.attrs.real("start", 0), ctx.attrs.real("step", 1)
    if step == 0:
        raise QnnError("attribute step must not be 0")
    low, high = (start, ctx.attrs.real("stop")) if ctx.attrs.has("stop") else (0.0, start)
    values = np.arange(low, high, step).astype(_dtype(ctx))
    return np.repeat(values, ctx.attrs.integer("repeat", 1))


def _dtype(ctx: Context) -> str:
    dtype = ctx.attrs.text("dtype", "float32")
    if dtype not in _DTYPES:
        raise UnsupportedError(f"dtype {dtype} is not supported")
    return dtype


def _sizes(ctx: Context) -> tuple[int, ...]:
    sizes = ctx.attrs.integers("shape")
    # A size of 0 means a size that the surrounding operators decide.
    if not sizes or min(sizes) < 1:
        raise UnsupportedError(f"shape {list(sizes)} is not known")
    return sizes


_CONSTANTS: dict[str, Rule] = {
    "_full": lambda ctx: np.full(_sizes(ctx), ctx.attrs.real("value"), _dtype(ctx)),
    "_ones": lambda ctx: np.ones(_sizes(ctx), _dtype(ctx)),
    "_zeros": lambda ctx: np.zeros(_sizes(ctx), _dtype(ctx)),
    "ones_like": lambda ctx: np.ones(ctx.shape(0), ctx.dtype(0)),
    "zeros_like": lambda ctx: np.zeros(ctx.shape(0), ctx.dtype(0)),
}
CONVERTERS.update(_CONSTANTS)


@converter(
    *("BlockGrad", "LinearRegressionOutput", "MAERegressionOutput", "MakeLoss", "_copy"),
    *("_identity_with_attr_like_rhs", "identity", "make_loss", "stop_gradient"),
)
def convert_identity(ctx: Context) -> Value:
    """Return the first input."""
    return ctx.value(0)


@converter("Dropout")
def convert_dropout(ctx: Context) -> Value:
    """Return the input: nothing is dropped outside of training."""
    if ctx.attrs.text("mode", "training", ("always", "training")) == "always":
        raise UnsupportedError("mode always draws random numbers")
    return ctx.value(0)


@converter("LogisticRegressionOutput")
def convert_logistic_regression_output(ctx: Context) -> Value:
    """Return the sigmoid before a loss."""
    return R.sigmoid(ctx.expr(0))
