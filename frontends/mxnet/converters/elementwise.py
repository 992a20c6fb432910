"""Arithmetic, comparisons, activations, softmax and other functions of floats; dtypes, constants.

Some operators return their input outside of training.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import CONVERTERS, Context, Rule, converter
from frontends.mxnet.scalars import Array, Value, const
from qnn_ops.dialect.checks import check_axis
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.comparisons import unequal

_Function = Callable[[relax.Expr, relax.Expr], relax.Expr]

# MXNet's names of a function: first for two tensors of one shape and for two that broadcast. The
# other names are for a tensor and a number, today and before 1.0; an "r" precedes them if the
# number is first.
_NAMES: dict[_Function, tuple[str, str, str, str]] = {
    R.add: ("elemwise_add _add _plus _Plus", "add plus", "plus", "Plus"),
    R.subtract: ("elemwise_sub _sub _minus _Minus", "sub minus", "minus", "Minus"),
    R.multiply: ("elemwise_mul _mul _Mul", "mul", "mul", "Mul"),
    R.divide: ("elemwise_div _div _Div", "div", "div", "Div"),
    R.power: ("_power _Power", "power", "power", "Power"),
    R.maximum: ("_maximum _Maximum", "maximum", "maximum", "Maximum"),
    R.minimum: ("_minimum _Minimum", "minimum", "minimum", "Minimum"),
    R.equal: ("_equal _Equal", "equal", "equal", "Equal"),
    unequal: ("_not_equal _Not_Equal", "not_equal", "not_equal", "NotEqual"),
    R.greater: ("_greater _Greater", "greater", "greater", "Greater"),
    R.greater_equal: (
        *("_greater_equal _Greater_Equal", "greater_equal"),
        *("greater_equal", "GreaterEqual"),
    ),
    R.less: ("_lesser _Lesser", "lesser", "lesser", "Lesser"),
    R.less_equal: ("_lesser_equal _Lesser_Equal", "lesser_equal", "lesser_equal", "LesserEqual"),
}
_COMPARISONS = (R.equal, unequal, R.greater, R.greater_equal, R.less, R.less_equal)


def _of_two(
    function: _Function, operands: Callable[[Context], tuple[relax.Expr, relax.Expr]]
) -> Rule:
    def convert(ctx: Context) -> relax.Expr:
        result = function(*operands(ctx))
        # MXNet's truth values are 1 and 0 in the inputs' dtype.
        return R.astype(result, ctx.dtype(0)) if function in _COMPARISONS else result

    return convert


def _of_same_shape(ctx: Context) -> tuple[relax.Expr, relax.Expr]:
    if ctx.shape(0) != ctx.shape(1):
        raise QnnError(f"both inputs must have one shape, got {ctx.shape(0)} and {ctx.shape(1)}")
    return ctx.expr(0), ctx.expr(1)


def _broadcast(ctx: Context) -> tuple[relax.Expr, relax.Expr]:
    try:
        np.broadcast_shapes(ctx.shape(0), ctx.shape(1))
    except ValueError:
        raise QnnError(
            f"the inputs must broadcast to one shape, got {ctx.shape(0)} and {ctx.shape(1)}"
        ) from None
    return ctx.expr(0), ctx.expr(1)


def _number(ctx: Context) -> relax.Expr:
    value, dtype = ctx.attrs.real("scalar"), np.dtype(ctx.dtype(0))
    if dtype.kind != "f" and value != int(value):
        raise UnsupportedError(f"{dtype} tensors and {value} are not supported together")
    return relax.const(dtype.type(value), str(dtype))


for _function, (_of_one_shape, _of_several, _new, _old) in _NAMES.items():
    converter(*_of_one_shape.split())(_of_two(_function, _of_same_shape))
    _wide = (f"broadcast_{each}" for each in _of_several.split())
    converter(*_wide)(_of_two(_function, _broadcast))
    _rule = _of_two(_function, lambda ctx: (ctx.expr(0), _number(ctx)))
    converter(f"_{_new}_scalar", f"_{_old}Scalar")(_rule)
    if _function in (R.subtract, R.divide, R.power):
        _rule = _of_two(_function, lambda ctx: (_number(ctx), ctx.expr(0)))
        converter(f"_r{_new}_scalar", f"_R{_old}Scalar")(_rule)


@converter("add_n", "ElementWiseSum")
def convert_add_n(ctx: Context) -> relax.Expr:
    """Return the sum of tensors of one shape."""
    if len(shapes := set(ctx.shapes())) != 1:
        raise QnnError(f"all inputs must have one shape, got {sorted(shapes)}")
    return reduce(R.add, ctx.exprs())


@converter("where")
def convert_where(ctx: Context) -> relax.Expr:
    """Return the second input where the first is not 0, otherwise the third."""
    condition: Any = ctx.expr(0)
    shapes: Sequence[tuple[int, ...]] = [ctx.shape(position) for position in range(3)]
    if shapes[1] != shapes[2] or shapes[0] not in (shapes[1], shapes[1][:1]):
        raise QnnError(f"the inputs must have one shape, got {', '.join(map(str, shapes))}")
    zero = relax.const(np.zeros((), ctx.dtype(0)), ctx.dtype(0))
    if shapes[0] != shapes[1]:
        condition = R.reshape(condition, (*shapes[0], *[1] * (len(shapes[1]) - 1)))
    return R.where(unequal(condition, zero), ctx.expr(1), ctx.expr(2))


UNARY: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "abs": R.abs,
    "ceil": R.ceil,
    "erf": R.erf,
    "exp": R.exp,
    "floor": R.floor,
    "log": R.log,
    "negative": R.negative,
    "reciprocal": lambda x: R.divide(const(1), x),
    "relu": R.nn.relu,
    "rsqrt": R.rsqrt,
    "sigmoid": R.sigmoid,
    "sign": R.sign,
    "softrelu": R.nn.softplus,
    "softsign": lambda x: R.divide(x, R.add(R.abs(x), const(1))),
    "sqrt": R.sqrt,
    "square": R.square,
    "tanh": R.tanh,
}
"""The functions, by MXNet's name."""


def _of_one(function: Callable[[relax.Expr], relax.Expr]) -> Rule:
    return lambda ctx: function(ctx.expr(0))


for _name, _unary in UNARY.items():
    if _name != "softrelu":  # only an act_type has this name
        CONVERTERS[_name] = _of_one(_unary)


@converter("hard_sigmoid")
def convert_hard_sigmoid(ctx: Context) -> Any:
    """Return a line, between 0 and 1."""
    alpha, beta = ctx.attrs.real("alpha", 0.2), ctx.attrs.real("beta", 0.5)
    return np.clip(ctx.array(0) * alpha + beta, 0, 1)


@converter("clip")
def convert_clip(ctx: Context) -> relax.Expr:
    """Clamp to a_min and a_max."""
    return R.clip(ctx.expr(0), ctx.attrs.real("a_min"), ctx.attrs.real("a_max"))


_ACTIVATIONS = ("relu", "sigmoid", "softrelu", "softsign", "tanh")

# MXNet's own constants.
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@converter("Activation")
def convert_activation(ctx: Context) -> relax.Expr:
    """Return the function that act_type names."""
    return UNARY[ctx.attrs.text("act_type", None, _ACTIVATIONS)](ctx.expr(0))


@converter("LeakyReLU")
def convert_leaky_relu(ctx: Context) -> Any:
    """Return the positive part unchanged, and the function of act_type of the negative part."""
    return _LEAKY[ctx.attrs.text("act_type", "leaky", tuple(_LEAKY))](ctx)


def _randomized(ctx: Context) -> relax.Expr:
    # Outside of training, the slope is the mean of the random slopes.
    low, high = ctx.attrs.real("lower_bound", 0.125), ctx.attrs.real("upper_bound", 0.334)
    return R.nn.leakyrelu(ctx.expr(0), (low + high) / 2)


def _exponential(ctx: Context, scale: float, alpha: float) -> Any:
    x = ctx.array(0)
    return np.where(x > 0, x if scale == 1 else x * scale, (np.exp(x) - 1) * (scale * alpha))


def _parametric(ctx: Context) -> Any:
    """Apply one slope to all, or one per channel."""
    x, slope = ctx.array(0), ctx.array(1)
    rank, channels = ctx.rank, ctx.shape(0)[1:2]
    if ctx.shape(1) not in ((1,), channels):
        raise QnnError(f"gamma must have shape (1,) or {channels}, got {ctx.shape(1)}")
    if rank > 1:
        slope = slope.reshape(1, ctx.shape(1)[0], *[1] * (rank - 2))
    return np.where(x > 0, x, x * slope)


_LEAKY: dict[str, Rule] = {
    "elu": lambda ctx: _exponential(ctx, 1, ctx.attrs.real("slope", 0.25)),
    "gelu": lambda ctx: R.nn.gelu(ctx.expr(0)),
    "leaky": lambda ctx: R.nn.leakyrelu(ctx.expr(0), ctx.attrs.real("slope", 0.25)),
    "prelu": _parametric,
    "rrelu": _randomized,
    "selu": lambda ctx: _exponential(ctx, _SELU_SCALE, _SELU_ALPHA),
}


@converter("softmax", "log_softmax")
def convert_softmax(ctx: Context) -> relax.Expr:
    """Divide exponentials by their sum along an axis, or return the logarithm of that."""
    if ctx.attrs.flag("use_length", False):
        raise UnsupportedError("use_length is not supported")
    if ctx.attrs.text("dtype", "float32") != "float32":
        raise UnsupportedError("only dtype float32 is supported")
    data, axis = ctx.expr(0), ctx.axis(-1)
    temperature = ctx.attrs.real("temperature", 1)
    if temperature <= 0:
        raise QnnError(f"attribute temperature must be positive, got {temperature}")
    if temperature != 1:
        data = R.divide(data, const(temperature))
    return getattr(R.nn, ctx.node.op)(data, axis)


@converter("SoftmaxOutput", "Softmax")
def convert_softmax_output(ctx: Context) -> relax.Expr:
    """Compute the softmax before a loss, the end of a trained network; labels are not read."""
    if ctx.attrs.flag("multi_output", False):
        return R.nn.softmax(ctx.expr(0), check_axis(1, ctx.rank))
    if ctx.attrs.flag("preserve_shape", False):
        return R.nn.softmax(ctx.expr(0), -1)
    shape = ctx.shape(0)
    rows = R.reshape(ctx.expr(0), (*shape[:1], prod(shape[1:])))
    return R.reshape(ctx.emit(R.nn.softmax(rows, 1)), shape)


@converter("SoftmaxActivation")
def convert_softmax_activation(ctx: Context) -> relax.Expr:
    """Apply softmax along the channels or, by mode instance, along the last axis.

    MXNet's documentation says that an instance is a whole item of the batch. MXNet computes
    something else.
    """
    if ctx.attrs.text("mode", "instance", ("channel", "instance")) == "channel":
        return R.nn.softmax(ctx.expr(0), check_axis(1, ctx.rank))
    return R.nn.softmax(ctx.expr(0), -1)


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
