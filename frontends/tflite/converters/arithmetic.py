"""ADD, SUB, MUL, DIV and the other elementwise operators of two operands."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import clamp_range, clamps, limited
from frontends.tflite.converters.context import Array, Context, per_tensor
from frontends.tflite.converters.fixed_point import FixedPoint, number
from frontends.tflite.converters.plain import (
    check_one_scale,
    lacks_one_scale,
    lacks_scale,
    with_least_scale,
    zero_points,
)
from frontends.tflite.converters.quantization import check_same_dtype, check_symmetric
from frontends.tflite.converters.registry import (
    FLOAT,
    WHOLE,
    converter,
    data_converter,
    float_converter,
    int16_converter,
    unscaled_converter,
)
from frontends.tflite.model import Tensor
from frontends.tflite.options import AddOptions, DivOptions, MulOptions, Options, SubOptions
from qnn_ops import (
    quantized_add,
    quantized_multiply,
    quantized_prelu,
    quantized_squared_difference,
    quantized_subtract,
    requantize,
)
from qnn_ops.attributes import dtype_range
from qnn_ops.errors import QnnError
from qnn_ops.pair_tables import LOWEST_EXPONENT, quotient_table, quotient_tables_int16
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded
from qnn_ops.tables_int16 import power_of_two

# Beyond it, TFLite's shift of an int16 is undefined.
_MOST_SHIFT = 15


def shifts_powers_of_two(ctx: Context) -> bool:
    """Tell whether an operator asks for shifts, and its scales are powers of two."""
    options = ctx.operator.options
    if not isinstance(options, AddOptions | SubOptions) or not options.pot_scale_int16:
        return False
    tensors = (ctx.tensor(0), ctx.tensor(1), ctx.output())
    return all(power_of_two(per_tensor(tensor)[0]) is not None for tensor in tensors)


def shifted_sum(ctx: Context, bounds: tuple[int, int]) -> relax.Expr:
    """Return the sum or difference.

    Source: Add and BroadcastSub16POTSlow of TFLite's kernels/internal/reference, and what
    PrepareInt16SubOpPOT of its kernels/sub.cc takes.
    """
    operands, result = (ctx.input(0), ctx.input(1)), ctx.output()
    exponents = [power_of_two(per_tensor(operand.tensor)[0]) for operand in operands]
    exponent = power_of_two(per_tensor(result)[0])
    shifts = [(exponent or 0) - (each or 0) for each in exponents]
    if min(shifts) != 0 or max(shifts) > _MOST_SHIFT:
        raise QnnError(
            f"one scale must be that of {result.label}, the other one at most 2^{_MOST_SHIFT} "
            f"times smaller, got 2^{exponents} and 2^{exponent}"
        )
    is_sum = ctx.operator.code == "ADD"
    if is_sum and operands[0].shape != operands[1].shape:
        raise UnsupportedError("sums of int16 with pot_scale_int16 that broadcast")
    check_symmetric(ctx.tensor(0), ctx.tensor(1), result)
    # A product with a power of two in float64 is exact, so this rounds once, half away from zero.
    parts = [
        R.astype(
            requantize(operand.expr, 1.0, 0, 2.0**shift, 0, "int16", rounding="float64"), "int32"
        )
        for operand, shift in zip(operands, shifts, strict=True)
    ]
    low, high = (relax.const(bound, "int32") for bound in bounds)
    total = R.add(*parts) if is_sum else R.subtract(*parts)
    return R.astype(R.minimum(R.maximum(total, low), high), "int16")


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
    """Combine operands where one, or the result, has no scale: the multiplier is 0.

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


_INTEGERS = {
    "FLOOR_DIV": ("int8", "int16", "int32"),
    "FLOOR_MOD": ("int8", "int16", "int32", "int64"),
}


@converter("DIV")
def convert_quotient(ctx: Context) -> relax.Expr:
    """Divide; of two 8-bit values there are 65,536 quotients."""
    lhs, rhs, result = ctx.input(0), ctx.input(1), ctx.output()
    if not lhs.tensor.dtype == rhs.tensor.dtype == result.dtype:
        raise UnsupportedError(f"from {lhs.tensor.dtype} and {rhs.tensor.dtype} to {result.dtype}")
    bounds = clamp_range(ctx.options(DivOptions).activation, result)
    encodings = lhs.quantization, rhs.quantization, per_tensor(result)
    return _look_up(ctx, quotient_table(*encodings, result.dtype, bounds))


@int16_converter("DIV")
def convert_int16_quotient(ctx: Context) -> relax.Expr:
    """Divide; what depends on one of the values is a table."""
    lhs, rhs, result = ctx.input(0), ctx.input(1), ctx.output()
    check_symmetric(lhs.tensor, rhs.tensor, result)
    bounds = clamp_range(ctx.options(DivOptions).activation, result)
    tables = quotient_tables_int16(lhs.quantization[0], rhs.quantization[0], per_tensor(result)[0])
    of, emit = FixedPoint(ctx.builder), ctx.builder.emit

    def taken(table: Array, places: relax.Expr) -> relax.Expr:
        # Every place is in the table.
        return emit(R.take(relax.const(table, "int64"), places, axis=0, mode="clip"))

    lowest = relax.const(2**15, "int32")
    divisor = emit(R.add(R.astype(rhs.expr, "int32"), lowest))
    sign = taken(tables.sign, divisor)
    signed = R.multiply(R.astype(lhs.expr, "int32"), R.astype(sign, "int32"))
    dividend = emit(R.add(signed, lowest))
    quotient = of.product(taken(tables.lifted, dividend), taken(tables.inverse, divisor))
    scaled = of.product(quotient, number(tables.multiplier))
    spare = R.add(taken(tables.bits, divisor), taken(tables.headroom, dividend))
    first = tables.shift + LOWEST_EXPONENT
    exponent = emit(R.astype(R.subtract(spare, number(first)), "int32"))
    mask = taken(tables.mask, exponent)
    rest = emit(R.bitwise_and(scaled, mask))
    is_negative = R.astype(emit(R.less(scaled, number(0))), "int64")
    threshold = emit(R.add(R.right_shift(mask, number(1)), is_negative))
    more = R.astype(emit(R.greater(rest, threshold)), "int64")
    total = emit(R.add(R.right_shift(scaled, taken(tables.count, exponent)), more))
    total = R.where(R.equal(sign, number(0)), number(0), total)
    low, high = (number(bound) for bound in bounds)
    return R.astype(R.minimum(R.maximum(emit(total), low), high), "int16")


def _look_up(ctx: Context, table: Array) -> relax.Expr:
    result = ctx.output()
    values = ctx.values.add_constant(result, "_table", table.reshape(-1))
    lowest = relax.const(dtype_range(result.dtype)[0], "int32")
    first, second = (
        R.subtract(R.astype(ctx.input(place).expr, "int32"), lowest) for place in (0, 1)
    )
    index = R.add(R.multiply(first, relax.const(256, "int32")), second)
    # Every pair has an entry.
    return R.take(values, ctx.builder.emit(index), axis=0, mode="clip")


@data_converter(*_INTEGERS)
def convert_floored(ctx: Context) -> relax.Expr:
    """Divide integers, whatever they mean, and round down; or return what that leaves.

    LiteRT ends a run with an error where a divisor is 0, which is taken for 1 here; except for
    FLOOR_MOD of floats, which gives NaN.

    Raises:
        QnnError: a constant divisor is 0, so that every run would end.
    """
    code, lhs, rhs = ctx.operator.code, ctx.input(0), ctx.input(1)
    dtype = ctx.output().dtype
    is_fatal = (code, dtype) != ("FLOOR_MOD", "float32")
    if is_fatal and rhs.tensor.is_constant and not ctx.constant(1).all():
        raise QnnError(f"divides by 0, which {rhs.tensor.label} has")
    if {lhs.tensor.dtype, rhs.tensor.dtype, dtype} == {"float32"}:
        return FLOAT[code](ctx)
    if not lhs.tensor.dtype == rhs.tensor.dtype == dtype:
        raise QnnError(f"from {lhs.tensor.dtype} and {rhs.tensor.dtype} to {dtype}")
    if dtype not in _INTEGERS[code]:
        raise UnsupportedError(f"of {dtype}")
    # In 64 bits, which hold the quotient of the lowest int32 and -1.
    dividend, divisor = (R.astype(each.expr, "int64") for each in (lhs, rhs))
    divisor = ctx.builder.emit(divisor)
    # What -1 leaves is what 1 leaves; of the lowest int64 processors have no quotient by -1.
    never = (0, -1) if code == "FLOOR_MOD" else (0,)
    for each in never:
        is_never = R.equal(divisor, relax.const(each, "int64"))
        divisor = ctx.builder.emit(R.where(is_never, relax.const(1, "int64"), divisor))
    function = R.floor_divide if code == "FLOOR_DIV" else R.floor_mod
    return R.astype(function(dividend, divisor), dtype)
