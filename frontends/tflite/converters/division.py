"""DIV of quantized tensors, and FLOOR_DIV and FLOOR_MOD of integers."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import clamp_range
from frontends.tflite.converters.context import Array, Context, per_tensor
from frontends.tflite.converters.fixed_point import FixedPoint, number
from frontends.tflite.converters.quantization import check_symmetric
from frontends.tflite.converters.registry import (
    FLOAT,
    converter,
    data_converter,
    int16_converter,
)
from frontends.tflite.options import DivOptions
from qnn_ops import QnnError
from qnn_ops.attributes import dtype_range
from qnn_ops.pair_tables import LOWEST_EXPONENT, quotient_table, quotient_tables_int16

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

    LiteRT ends a run with an error where a divisor is 0, which is taken for 1 here; but for
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
