"""ADD, SUB, MUL, DIV and the other arithmetic of two operands, element by element."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters import scales
from frontends.tflite.converters.activations import bounded, clamp_range, clamps, limited
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.fixed_point import product
from frontends.tflite.operators import COMPUTED, MOVED, OPERATORS, Row, Rule
from qnn_ops import (
    quantized_add,
    quantized_multiply,
    quantized_prelu,
    quantized_squared_difference,
    quantized_subtract,
    requantize,
)
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.expressions import take
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError
from qnn_ops.tables.pair_tables import LOWEST_EXPONENT, quotient_table, quotient_tables_int16
from qnn_ops.tables.tables_int16 import power_of_two

# Beyond this shift, TFLite's shift of an int16 is undefined.
_MOST_SHIFT = 15


def shifts_powers_of_two(ctx: Context) -> bool:
    """Tell whether an operator asks for shifts, and its scales are powers of two."""
    if not ctx.options.pot_scale_int16:
        return False
    tensors = (ctx.tensor(0), ctx.tensor(1), ctx.output())
    return all(power_of_two(per_tensor(tensor)[0]) is not None for tensor in tensors)


def shifted_sum(ctx: Context, bounds: tuple[int, int]) -> Any:
    """Return the sum or difference.

    Source: Add and BroadcastSub16POTSlow of TFLite's kernels/internal/reference, and the conditions
    of PrepareInt16SubOpPOT of its kernels/sub.cc.
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
    scales.check_symmetric(ctx.tensor(0), ctx.tensor(1), result)
    # A product with a power of two in float64 is exact, so this rounds once, half away from zero.
    lhs, rhs = (
        requantize(operand.expr, 1.0, 0, 2.0**shift, 0, "int16", rounding="float64")
        for operand, shift in zip(operands, shifts, strict=True)
    )
    wide = (ctx.builder.array(each).astype("int32") for each in (lhs, rhs))
    return np.clip((np.add if is_sum else np.subtract)(*wide), *bounds).astype("int16")


def _scaled(function: Callable[..., relax.Expr], *, is_product: bool = False) -> Rule:
    """Return the rule that combines two quantized operands, broadcast as in numpy."""

    def convert(ctx: Context) -> Any:
        (lhs, rhs), result = ctx.inputs(2), ctx.output()
        if lhs.dtype == rhs.dtype == "int16" and shifts_powers_of_two(ctx):
            return shifted_sum(ctx, clamp_range(ctx.options.activation, result))
        low, high = clamp_range(ctx.options.activation, result)
        # A constant of zeros may have the scale 0.
        known = [each.tensor.quantization for each in (lhs, rhs)]
        if is_product and any(each and each.scale.tolist() == [0] for each in known):
            per_tensor(result)
            return _of_zeros(ctx)
        encodings = (*lhs.quantization, *rhs.quantization, *per_tensor(result))
        return function(lhs.expr, rhs.expr, *encodings, result.dtype, out_min=low, out_max=high)

    return convert


def _floats(function: Callable[..., relax.Expr], *, is_limited: bool = False) -> Rule:
    """Return the rule that combines two float32 operands, broadcast as in numpy."""

    def convert(ctx: Context) -> relax.Expr:
        result = function(*ctx.exprs(2))
        return limited(ctx.options.activation, ctx.emit(result)) if is_limited else result

    return convert


def whole(
    function: Callable[..., Any], *dtypes: str, count: int = 2
) -> Callable[[Context], relax.Expr]:
    """Return the rule that combines integers, broadcast as in numpy; results beyond int32 wrap.

    Args:
        function: of arrays of int64.
        *dtypes: the types that LiteRT takes; int16, int32 and int64 by default.
        count: of the operands.
    """

    def convert(ctx: Context) -> relax.Expr:
        dtype = ctx.common_dtype(*(dtypes or ("int16", "int32", "int64")))
        # In 64 bits, as TVM lets LLVM assume that nothing overflows.
        result = function(*(each.astype("int64") for each in ctx.arrays(count)))
        return bounded(ctx.options.activation, result.astype(dtype).expr, dtype)

    return convert


def _unscaled(needed: Sequence[int], plain: Sequence[int] = ()) -> Rule:
    """Return the rule for an operand or result without a scale: the multiplier is 0.

    LiteRT computes with plain int16 integers if a product has no scale, or if neither a sum nor its
    first operand has one.

    Args:
        needed: the tensors that need a scale otherwise: LiteRT ends without one. -1 is the result.
        plain: if these tensors have no scale, LiteRT computes with plain int16 integers; none if it
            never does.
    """

    def convert(ctx: Context) -> relax.Expr | list[relax.Expr]:
        tensors = [ctx.tensor(0), ctx.tensor(1), ctx.output()]
        is_plain = bool(plain) and all(scales.lacks_scale(tensors[index]) for index in plain)
        rule = OPERATORS[ctx.operator.code].whole
        if is_plain and {tensor.dtype for tensor in tensors} == {"int16"} and rule is not None:
            return rule(ctx)
        scales.check_one_scale([tensors[index] for index in needed])
        if clamps(ctx.options.activation):
            scales.check_one_scale(tensors[-1:])
        return _of_zeros(ctx)

    return convert


def _of_zeros(ctx: Context) -> relax.Expr:
    """Return the result's zero point in the shape of two operands."""
    # Their difference has the result's shape, as TVM checks.
    difference = ctx.builder.typed(R.subtract(*ctx.exprs(2)))
    return scales.zero_points(ctx.output(), spec_of(difference).shape)


def convert_prelu(ctx: Context) -> relax.Expr:
    """Multiply negative values by slopes, the second operand, which is broadcast."""
    (data, slopes), result = ctx.inputs(2), ctx.output()
    encodings = (*data.quantization, *slopes.quantization, *per_tensor(result))
    call = ctx.builder.typed(quantized_prelu(data.expr, slopes.expr, *encodings, result.dtype))
    if spec_of(call).shape != data.shape:
        raise QnnError(f"slopes of shape {slopes.shape} do not broadcast to {data.shape}")
    return call


def convert_unscaled_prelu(ctx: Context) -> relax.Expr:
    """Return the result's zero point if both multipliers are 0: slopes alone may all be 0."""
    data, result = ctx.input(0), ctx.output()
    if scales.lacks_one_scale(data.tensor) or scales.lacks_one_scale(result):
        return scales.zero_points(result, data.shape)
    return scales.with_least_scale(convert_prelu)(ctx)


def convert_quantized_squared_difference(ctx: Context) -> relax.Expr:
    """Square the difference of two quantized operands, broadcast as in numpy."""
    (lhs, rhs), result = ctx.inputs(2), ctx.output()
    if result.dtype != "int8":
        raise UnsupportedError(f"tensors of type {result.dtype}, which TFLite does not square")
    return quantized_squared_difference(
        lhs.expr, rhs.expr, *lhs.quantization, *rhs.quantization, *per_tensor(result), result.dtype
    )


def applied(function: Callable[..., relax.Expr], *dtypes: str, count: int = 2) -> Rule:
    """Return the rule that applies a function to operands of the result's type, whatever scales.

    Args:
        function: of Relax.
        *dtypes: the types that LiteRT takes; none for all.
        count: of the operands.
    """

    def convert(ctx: Context) -> relax.Expr:
        ctx.common_dtype(*dtypes)
        return function(*ctx.exprs(count))

    return convert


def convert_sum(ctx: Context) -> Any:
    """Add tensors of one shape, one after the other."""
    total = ctx.array(0)
    is_real = total.dtype == np.float32
    if not is_real:
        ctx.common_dtype("int32")
    for other in map(ctx.array, range(1, len(ctx.operator.inputs))):
        if other.shape != total.shape:
            raise QnnError(f"shapes {total.shape} and {other.shape} differ")
        if is_real:
            total = rounded(total + other)
        else:  # in 64 bits, as TVM lets LLVM assume that nothing overflows
            total = (total.astype("int64") + other.astype("int64")).astype("int32")
    return total


def convert_squared_difference(ctx: Context) -> Any:
    """Square lhs - rhs."""
    lhs, rhs = ctx.arrays(2)
    difference = lhs - rhs
    return rounded(difference * difference)


def convert_quotient(ctx: Context) -> relax.Expr:
    """Divide by a table of the 65,536 quotients of two 8-bit values."""
    (lhs, rhs), result = ctx.inputs(2), ctx.output()
    ctx.common_dtype()
    bounds = clamp_range(ctx.options.activation, result)
    encodings = lhs.quantization, rhs.quantization, per_tensor(result)
    table = quotient_table(*encodings, result.dtype, bounds).reshape(-1)
    values = ctx.values.add_constant(result, "_table", table)
    lowest = np.int32(dtype_range(result.dtype)[0])
    first, second = (operand.astype("int32") - lowest for operand in ctx.arrays(2))
    # Every pair has an entry.
    return R.take(values, (first * 256 + second).expr, axis=0, mode="clip")


def convert_int16_quotient(ctx: Context) -> Any:
    """Divide; tables hold everything that depends on only one of the values."""
    (lhs, rhs), result = ctx.inputs(2), ctx.output()
    scales.check_symmetric(lhs.tensor, rhs.tensor, result)
    bounds = clamp_range(ctx.options.activation, result)
    tables = quotient_tables_int16(lhs.quantization[0], rhs.quantization[0], per_tensor(result)[0])

    def taken(table: Array, indices: Any) -> Any:
        return take(table.astype(np.int64), indices)  # every index is in the table

    lowest = np.int32(2**15)
    divisor = ctx.array(1).astype("int32") + lowest
    sign = taken(tables.sign, divisor)
    dividend = ctx.array(0).astype("int32") * sign.astype("int32") + lowest
    quotient = product(taken(tables.lifted, dividend), taken(tables.inverse, divisor))
    scaled = product(quotient, tables.multiplier)
    spare = taken(tables.bits, divisor) + taken(tables.headroom, dividend)
    exponent = (spare - (tables.shift + LOWEST_EXPONENT)).astype("int32")
    mask = taken(tables.mask, exponent)
    rest, is_negative = scaled & mask, scaled < 0
    is_more = rest > (mask >> 1) + is_negative.astype("int64")
    total = (scaled >> taken(tables.count, exponent)) + is_more.astype("int64")
    within: Any = np.minimum(np.maximum(np.where(sign == 0, 0, total), bounds[0]), bounds[1])
    return within.astype("int16")


def convert_float_prelu(ctx: Context) -> Any:
    """Compute x if positive, otherwise alpha * x; alpha, the second operand, is broadcast."""
    data, alpha = ctx.arrays(2)
    return np.where(data >= 0, data, data * alpha)


def check_divisor(ctx: Context) -> None:
    """Raise a ``QnnError`` if a constant divisor, the second operand, is 0."""
    if ctx.tensor(1).is_constant and not ctx.constant(1).all():
        raise QnnError(f"divides by 0, which {ctx.tensor(1).label} has")


def convert_whole_quotient(ctx: Context) -> relax.Expr:
    """Divide integers, and round towards zero.

    LiteRT ends a run with an error if a divisor is 0; here it counts as 1.

    Raises:
        QnnError: a constant divisor is 0.
    """
    check_divisor(ctx)

    def divide(lhs: Any, rhs: Any) -> Any:
        divisor: Any = np.where(rhs == 0, 1, rhs)
        return np.abs(lhs) // np.abs(divisor) * (np.sign(lhs) * np.sign(divisor))

    return whole(divide, "int32")(ctx)


OPERATORS.update(
    {
        "ADD": Row(
            scaled=_scaled(quantized_add),
            floats=_floats(R.add, is_limited=True),
            whole=whole(np.add),
            unscaled=_unscaled(needed=(0, 1, -1), plain=(0, -1)),
            micro=COMPUTED,
            combines="add",
        ),
        "ADD_N": Row(floats=convert_sum, whole=convert_sum),
        "ATAN2": Row(floats=_floats(R.atan2)),
        "DIV": Row(
            quantized=convert_quotient,
            int16=convert_int16_quotient,
            floats=_floats(R.divide, is_limited=True),
            whole=convert_whole_quotient,
        ),
        **{
            code: Row(
                scaled=applied(function),
                floats=_floats(function),
                whole=whole(of_arrays),
                micro=MOVED,
                is_for_every_scale=True,
                combines=code.lower(),
            )
            for code, function, of_arrays in (
                ("MAXIMUM", R.maximum, np.maximum),
                ("MINIMUM", R.minimum, np.minimum),
            )
        },
        "MUL": Row(
            scaled=_scaled(quantized_multiply, is_product=True),
            floats=_floats(R.multiply, is_limited=True),
            whole=whole(np.multiply),
            unscaled=_unscaled(needed=(), plain=(-1,)),
            is_complemented=True,
            combines="multiply",
        ),
        "PRELU": Row(
            quantized=convert_prelu, floats=convert_float_prelu, unscaled=convert_unscaled_prelu
        ),
        "SQUARED_DIFFERENCE": Row(
            quantized=convert_quantized_squared_difference,
            floats=convert_squared_difference,
            whole=whole(lambda lhs, rhs: (lhs - rhs) * (lhs - rhs)),
            micro=COMPUTED,
        ),
        "SUB": Row(
            scaled=_scaled(quantized_subtract),
            floats=_floats(R.subtract, is_limited=True),
            whole=whole(np.subtract),
            unscaled=_unscaled(needed=(0, 1)),
            micro=COMPUTED,
        ),
    }
)
