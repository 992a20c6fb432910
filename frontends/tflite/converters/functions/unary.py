"""Functions of one operand: Relax's for float32, and tables for quantized tensors."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import convert_rescaling
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.functions.arithmetic import whole
from frontends.tflite.converters.scales import check_one_scale, check_symmetric, with_least_scale
from frontends.tflite.operators import COMPUTED, OPERATORS, Row, Rule
from qnn_ops import quantized_lookup
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.tables import lookup

_ROOT = math.sqrt(2 / math.pi)

Unary = Callable[[relax.Expr], relax.Expr]


def _tabulated(table_of: Callable[..., Array], *, option: str = "", has_uint8: bool = True) -> Rule:
    """Return the rule that looks up integers in a table, made from an option and scales.

    Args:
        table_of: makes the table for the result's dtype.
        option: the operator's option that it takes first, if it has one.
        has_uint8: whether LiteRT has the operator for uint8.
    """

    def convert(ctx: Context) -> relax.Expr:
        data, result = ctx.tensor(0), ctx.output()
        first = [getattr(ctx.options, option)] if option else []
        if result.dtype == "int16":
            check_symmetric(data, result)
        ends = partial(lookup.Ends, *per_tensor(data), *per_tensor(result))
        return _looked_up(ctx, lambda dtype: table_of(*first, ends(dtype)), has_uint8=has_uint8)

    return convert


def _looked_up(
    ctx: Context, table_of: Callable[[str], Array], *, has_uint8: bool = True
) -> relax.Expr:
    dtype = ctx.common_dtype()
    if dtype == "uint8" and not has_uint8:
        raise UnsupportedError("LiteRT has no such operator of uint8")
    table = ctx.values.add_constant(ctx.output(), "_table", table_of(dtype))
    return quantized_lookup(ctx.input(0).expr, table)


def _negative(ctx: Context) -> relax.Expr:
    """Negate the stored integers, as LiteRT does; the lowest one of int16 wraps."""
    return _looked_up(ctx, lookup.negative_table, has_uint8=False)


def _exp(x: Array) -> Array:
    # C's expf is exp rounded to float32 (to within 0.51 of its last digit).
    return np.exp(x.astype(np.float64)).astype(np.float32)


def of_zero(*dtypes: str) -> Rule:
    """Return the rule for a function of data that all stand for 0.

    Args:
        *dtypes: the types for which the function reads only the result's scale, which must exist.
    """

    def convert(ctx: Context) -> relax.Expr | list[relax.Expr]:
        data, result, row = ctx.tensor(0), ctx.output(), OPERATORS[ctx.operator.code]
        # For other operators LiteRT reads uninitialized memory as the scale, or crashes.
        check_one_scale([result] if result.dtype in dtypes else [data, result])
        rule = row.int16 if result.dtype == "int16" else row.quantized
        assert rule is not None
        return with_least_scale(rule)(ctx)

    return convert


def _floats(function: Unary) -> Rule:
    """Return the rule for a function of float32."""
    return lambda ctx: function(ctx.input(0).expr)


def _sign(ctx: Context) -> Any:
    data = ctx.array(0)
    return np.where(np.isnan(data), data, np.sign(data))  # TVM's sign of NaN is 0


def _tanh(data: Any) -> Any:
    # TVM's tanh of float32 loses digits if its results are small; so does its erf.
    return np.tanh(data.astype("float64")).astype("float32")


def convert_logistic(ctx: Context) -> Any:
    """Compute 1 / (1 + exp(-x)); below -9 that is exp(x), as in LiteRT."""
    data = ctx.array(0)
    is_low = data < np.float32(-9)
    power = np.exp(np.where(is_low, data, -data))
    return np.where(is_low, power, 1 / (1 + power))


def convert_elu(ctx: Context) -> Any:
    """Compute exp(x) - 1 of negative numbers, of small ones with all digits; others stay."""
    data = ctx.array(0)
    bent = np.tanh(data.astype("float64") * 0.5)
    return np.where(data < 0, (2 * bent / (1 - bent)).astype("float32"), data)


def convert_gelu(ctx: Context) -> Any:
    """Compute x times the normal distribution up to x, or its approximation by tanh."""
    data = ctx.array(0)
    half = np.float32(0.5) * data
    if ctx.options.approximate:
        inner = np.float32(_ROOT) * (data + np.float32(0.044715) * (data * data * data))
        part = 1 + _tanh(inner)
    else:
        wide = (data * np.float32(math.sqrt(0.5))).astype("float64")
        part = (1 + wide.to(R.erf(wide.expr))).astype("float32")
    return rounded(half * part)


def convert_hard_swish(ctx: Context) -> Any:
    """Compute x * relu6(x + 3) / 6."""
    data = ctx.array(0)
    return data * np.clip(data + 3, 0, 6) / 6


def convert_local_response_normalization(ctx: Context) -> Any:
    """Divide x by a power of the sum of its neighbours' squares along the last axis.

    LiteRT leaves out the last of the ``radius`` neighbours on either side.
    """
    options, data = ctx.options, ctx.last_axis(0)
    depth = data.shape[-1]
    radius = min(max(options.radius, 0), depth)  # there are no more neighbours
    widths = [(0, 0)] * (data.ndim - 1) + [(radius, max(radius - 1, 0))]
    squares = np.pad(np.square(data), widths, constant_values=0.0)
    total = data.to(R.zeros(data.shape, "float32"))
    for index in range(2 * radius):
        total = total + squares[..., index : index + depth]
    base = np.float32(options.bias) + np.float32(options.alpha) * total
    return rounded(data * base ** np.float32(-options.beta))


OPERATORS.update(
    {
        "ABS": Row(
            scaled=_tabulated(lookup.absolute_table, has_uint8=False),
            floats=_floats(R.abs),
            whole=whole(np.absolute, count=1),
            is_for_every_scale=True,
        ),
        "CEIL": Row(floats=_floats(R.ceil)),
        "COS": Row(floats=_floats(R.cos)),
        "ELU": Row(quantized=_tabulated(lookup.elu_table, has_uint8=False), floats=convert_elu),
        "EXP": Row(
            scaled=_tabulated(partial(lookup.unary_table, _exp)),
            floats=_floats(R.exp),
            unscaled=of_zero("int8", "int16"),
        ),
        "FLOOR": Row(floats=_floats(R.floor)),
        "GELU": Row(
            scaled=_tabulated(lookup.gelu_table, option="approximate"),
            floats=convert_gelu,
            unscaled=of_zero("int8", "uint8", "int16"),
        ),
        "HARD_SWISH": Row(
            quantized=_tabulated(lookup.hard_swish_table),
            floats=convert_hard_swish,
            unscaled=convert_rescaling,
            micro=COMPUTED,
        ),
        "LEAKY_RELU": Row(
            scaled=_tabulated(lookup.leaky_relu_table, option="alpha"),
            floats=lambda ctx: R.nn.leakyrelu(ctx.input(0).expr, ctx.options.alpha),
            unscaled=convert_rescaling,
        ),
        "LOCAL_RESPONSE_NORMALIZATION": Row(floats=convert_local_response_normalization),
        "LOG": Row(
            scaled=_tabulated(lookup.log_table, has_uint8=False),
            floats=_floats(R.log),
        ),
        "LOGISTIC": Row(
            scaled=_tabulated(lookup.logistic_table),
            floats=convert_logistic,
            unscaled=of_zero("int8", "uint8"),
            is_complemented=True,
            micro=COMPUTED,
        ),
        "NEG": Row(
            scaled=_negative,
            floats=_floats(R.negative),
            whole=whole(np.negative, count=1),
            unscaled=_negative,
            is_for_every_scale=True,
        ),
        "ROUND": Row(floats=_floats(R.round)),
        "RSQRT": Row(
            scaled=_tabulated(lookup.rsqrt_table, has_uint8=False),
            floats=_floats(R.rsqrt),
        ),
        "SIGN": Row(floats=_sign, whole=whole(np.sign, count=1)),
        "SIN": Row(floats=_floats(R.sin)),
        "SQRT": Row(
            scaled=_tabulated(lookup.sqrt_table, has_uint8=False),
            floats=_floats(R.sqrt),
        ),
        "SQUARE": Row(floats=lambda ctx: rounded(np.square(ctx.array(0)))),
        "TANH": Row(
            scaled=_tabulated(lookup.tanh_table),
            floats=lambda ctx: _tanh(ctx.array(0)),
            unscaled=of_zero("int8", "uint8"),
            is_complemented=True,
            micro=COMPUTED,
        ),
    }
)
