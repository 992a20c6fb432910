"""ADD, SUB, MUL and the other elementwise operators of two operands."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import clamp_range, clamps, limited
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.plain import (
    check_one_scale,
    lacks_one_scale,
    lacks_scale,
    with_least_scale,
    zero_points,
)
from frontends.tflite.converters.quantization import check_same_dtype
from frontends.tflite.converters.registry import (
    WHOLE,
    converter,
    float_converter,
    int16_converter,
    unscaled_converter,
)
from frontends.tflite.converters.shifted_sums import shifted_sum, shifts_powers_of_two
from frontends.tflite.model import Tensor
from frontends.tflite.options import AddOptions, DivOptions, MulOptions, Options, SubOptions
from qnn_ops import (
    QnnError,
    quantized_add,
    quantized_multiply,
    quantized_prelu,
    quantized_squared_difference,
    quantized_subtract,
)
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

_QUANTIZED: dict[str, Callable[..., relax.Expr]] = {
    "ADD": quantized_add,
    "SUB": quantized_subtract,
    "MUL": quantized_multiply,
}
_FLOAT: dict[str, Callable[..., relax.Expr]] = {
    "ADD": R.add,
    "SUB": R.subtract,
    "MUL": R.multiply,
    "DIV": R.divide,
    "MAXIMUM": R.maximum,
    "MINIMUM": R.minimum,
    "ATAN2": R.atan2,
}
_LIMITED = ("ADD", "SUB", "MUL", "DIV")


def _activation(ctx: Context) -> str:
    options: Options | None = ctx.operator.options
    if isinstance(options, AddOptions | SubOptions | MulOptions | DivOptions):
        return options.activation
    return "NONE"


@int16_converter(*_QUANTIZED)
@converter(*_QUANTIZED)
def convert_arithmetic(ctx: Context) -> relax.Expr:
    """Combine two quantized operands, broadcast as in numpy."""
    lhs, rhs, result = ctx.input(0), ctx.input(1), ctx.output()
    if lhs.tensor.dtype == rhs.tensor.dtype == "int16" and shifts_powers_of_two(ctx):
        return shifted_sum(ctx, clamp_range(_activation(ctx), result))
    low, high = clamp_range(_activation(ctx), result)
    if ctx.operator.code == "MUL" and any(map(_means_nothing, (lhs.tensor, rhs.tensor))):
        per_tensor(result)
        return _of_zeros(ctx)
    return _QUANTIZED[ctx.operator.code](
        lhs.expr,
        rhs.expr,
        *lhs.quantization,
        *rhs.quantization,
        *per_tensor(result),
        result.dtype,
        out_min=low,
        out_max=high,
    )


# Which tensors of int16 have no scale where LiteRT takes all for integers that mean themselves.
_PLAIN = {"ADD": (0, -1), "MUL": (-1,)}
# Of which it needs a scale otherwise: it ends without.
_NEED_SCALES = {"ADD": (0, 1, -1), "MUL": (), "SUB": (0, 1)}


@unscaled_converter(*_NEED_SCALES)
def convert_unscaled_arithmetic(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Combine operands of which one, or the result, has no scale: the multiplier is 0.

    LiteRT takes int16 for integers that mean themselves where a product has no scale, and where
    neither a sum nor its first operand has one.
    """
    code, tensors = ctx.operator.code, [ctx.tensor(0), ctx.tensor(1), ctx.output()]
    is_plain = code in _PLAIN and all(lacks_scale(tensors[place]) for place in _PLAIN[code])
    if is_plain and {tensor.dtype for tensor in tensors} == {"int16"}:
        return WHOLE[code](ctx)
    check_one_scale([tensors[place] for place in _NEED_SCALES[code]])
    if clamps(_activation(ctx)):
        check_one_scale(tensors[-1:])
    return _of_zeros(ctx)


def _of_zeros(ctx: Context) -> relax.Expr:
    """Return the result's zero point in the shape of two operands."""
    # Their difference is of the result's shape, as TVM checks it.
    difference = ctx.builder.typed(R.subtract(ctx.input(0).expr, ctx.input(1).expr))
    return zero_points(ctx.output(), spec_of(difference).shape)


def _means_nothing(tensor: Tensor) -> bool:
    """Tell whether a tensor's scale is 0, as that of a constant of zeros may be."""
    known = tensor.quantization
    return known is not None and not known.is_per_channel and known.scale[0] == 0


@converter("PRELU")
def convert_prelu(ctx: Context) -> relax.Expr:
    """Multiply what is negative by a slope; the slopes, the second operand, are broadcast."""
    data, slopes, result = ctx.input(0), ctx.input(1), ctx.output()
    call = ctx.builder.typed(
        quantized_prelu(
            data.expr,
            slopes.expr,
            *data.quantization,
            *slopes.quantization,
            *per_tensor(result),
            result.dtype,
        )
    )
    if spec_of(call).shape != data.shape:
        raise QnnError(f"slopes of shape {slopes.shape} do not broadcast to {data.shape}")
    return call


@unscaled_converter("PRELU")
def convert_unscaled_prelu(ctx: Context) -> relax.Expr:
    """Return the result's zero point where both multipliers are 0: slopes alone may all be 0."""
    data, result = ctx.input(0), ctx.output()
    if lacks_one_scale(data.tensor) or lacks_one_scale(result):
        return zero_points(result, data.shape)
    return with_least_scale(convert_prelu)(ctx)


@converter("SQUARED_DIFFERENCE")
def convert_quantized_squared_difference(ctx: Context) -> relax.Expr:
    """Square the difference of two quantized operands, broadcast as in numpy."""
    lhs, rhs, result = ctx.input(0), ctx.input(1), ctx.output()
    if result.dtype != "int8":
        raise UnsupportedError(f"tensors of type {result.dtype}, which TFLite does not square")
    return quantized_squared_difference(
        lhs.expr, rhs.expr, *lhs.quantization, *rhs.quantization, *per_tensor(result), result.dtype
    )


@int16_converter("MAXIMUM", "MINIMUM")
@converter("MAXIMUM", "MINIMUM")
def convert_extremum(ctx: Context) -> relax.Expr:
    """Return the larger (smaller) of two integers, whatever they mean, as LiteRT does."""
    for position in (0, 1):
        check_same_dtype(ctx.tensor(position), ctx.output())
    return _FLOAT[ctx.operator.code](ctx.input(0).expr, ctx.input(1).expr)


@float_converter(*_FLOAT)
def convert_float_arithmetic(ctx: Context) -> relax.Expr:
    """Combine two float32 operands, broadcast as in numpy."""
    result = _FLOAT[ctx.operator.code](ctx.input(0).expr, ctx.input(1).expr)
    if ctx.operator.code not in _LIMITED:
        return result
    return limited(_activation(ctx), ctx.builder.emit(result))


@float_converter("FLOOR_DIV")
def convert_floor_div(ctx: Context) -> relax.Expr:
    """Round a quotient down, which LiteRT computes in float64."""
    lhs, rhs = (R.astype(ctx.input(place).expr, "float64") for place in (0, 1))
    return R.astype(R.floor(R.divide(lhs, rhs)), "float32")


@float_converter("FLOOR_MOD")
def convert_floor_mod(ctx: Context) -> relax.Expr:
    """Return what a division leaves, of the divisor's sign: the remainder is exact."""
    lhs, rhs = ctx.input(0).expr, ctx.input(1).expr
    rest, zero = ctx.builder.emit(R.mod(lhs, rhs)), relax.const(0.0, "float32")
    # The product of two that are not 0 may vanish: their signs do not.
    is_other = R.less(R.multiply(R.sign(rest), R.sign(rhs)), zero)
    return R.where(is_other, R.add(rest, rhs), rest)


@float_converter("ADD_N")
def convert_add_n(ctx: Context) -> relax.Expr:
    """Add tensors of one shape, one after the other."""
    operands = ctx.inputs()
    total = operands[0].expr
    for operand in operands[1:]:
        if operand.shape != operands[0].shape:
            raise QnnError(f"shapes {operands[0].shape} and {operand.shape} differ")
        total = rounded(ctx.builder.emit(R.add(total, operand.expr)))
    return total


@float_converter("SQUARED_DIFFERENCE")
def convert_squared_difference(ctx: Context) -> relax.Expr:
    """Square lhs - rhs."""
    difference = ctx.builder.emit(R.subtract(ctx.input(0).expr, ctx.input(1).expr))
    return rounded(ctx.builder.emit(R.multiply(difference, difference)))
