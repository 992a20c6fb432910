"""FLOOR_DIV, FLOOR_MOD, POW, bitwise operators, shifts, StableHLO's arithmetic, and BITCAST."""

from collections.abc import Sequence
from math import inf, prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.functions.arithmetic import applied, check_divisor
from frontends.tflite.operators import OPERATORS, Row, Rule, converter
from qnn_ops import natural_power, reinterpret
from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_INTEGERS = ("int8", "uint8", "int16", "int32")
_SIGNED = ("int8", "int16", "int32")
_BITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}
_NEAR = np.float32(1e-5)  # the largest distance at which an exponent counts as a natural number


def convert_floor_div(ctx: Context) -> Any:
    """Divide and round down; LiteRT computes the quotient in float64."""
    lhs, rhs = (operand.astype("float64") for operand in ctx.arrays(2))
    return np.floor(lhs / rhs).astype("float32")


def convert_floor_mod(ctx: Context) -> Any:
    """Return the exact remainder, with the divisor's sign."""
    lhs, rhs = ctx.arrays(2)
    rest = lhs.to(R.mod(lhs.expr, rhs.expr))
    # The product of two small numbers may become 0; the product of their signs does not.
    is_other = np.sign(rest) * np.sign(rhs) < 0
    return np.where(is_other, rest + rhs, rest)


def _floored(function: np.ufunc, floats: Rule, dtypes: Sequence[str], *, is_rest: bool) -> Rule:
    """Return the rule that divides stored numbers and rounds down, or returns the remainder.

    LiteRT ends a run with an error if a divisor is 0. Here such a divisor counts as 1. The
    remainder of floats is NaN instead. The rule raises a ``QnnError`` if a constant divisor is 0.

    Args:
        function: of numpy, on int64.
        floats: the rule for float32.
        dtypes: the integers that LiteRT takes.
        is_rest: whether the function returns the remainder.
    """
    # -1 and 1 leave the same remainder, and processors cannot divide the lowest int64 by -1.
    never = (0, -1) if is_rest else (0,)

    def convert(ctx: Context) -> Any:
        dtype = ctx.common_dtype("float32", *dtypes)
        if not is_rest or dtype != "float32":
            check_divisor(ctx)
        if dtype == "float32":
            return floats(ctx)
        # 64 bits hold the quotient of the lowest int32 and -1.
        dividend, divisor = (operand.astype("int64") for operand in ctx.arrays(2))
        for each in never:
            divisor = np.where(divisor == each, 1, divisor)
        return function(dividend, divisor).astype(dtype)

    return convert


@converter("RIGHT_SHIFT")
def convert_right_shift(ctx: Context) -> Any:
    """Shift to the right, by 0 bits at least and by all but one at most."""
    dtype = ctx.output().dtype
    data, count = (each.astype("int32") for each in _operands(ctx, _INTEGERS))
    return (data >> np.clip(count, 0, np.iinfo(dtype).bits - 1)).astype(dtype)


@converter("STABLEHLO_SHIFT_LEFT")
def convert_left_shift(ctx: Context) -> Any:
    """Shift to the left; a count beyond 31 or below 0, undefined in LiteRT, gives 0."""
    # In 64 bits, as TVM lets LLVM assume that nothing overflows.
    data, count = (each.astype("int64") for each in _operands(ctx, _SIGNED))
    inside, dtype = count & 31, ctx.output().dtype
    return np.where(count == inside, (data << inside).astype(dtype), np.zeros((), dtype))


@converter("STABLEHLO_AND", combines="all")
def convert_stablehlo_and(ctx: Context) -> Any:
    """Compute the bitwise and."""
    lhs, rhs = _operands(ctx, (*_INTEGERS, "int64", "bool"))
    return lhs & rhs


def _stablehlo(function: np.ufunc, of_bool: np.ufunc) -> Rule:
    """Return the rule for tensors of one shape, whatever scales the file states; integers wrap."""

    def convert(ctx: Context) -> Any:
        dtype = ctx.output().dtype
        operands = _operands(ctx, (*_INTEGERS, "int64", "bool", "float32"))
        if dtype == "bool":
            return of_bool(*operands)
        if dtype == "float32":
            return rounded(function(*operands))
        # In 64 bits, as TVM lets LLVM assume that nothing overflows.
        return function(*(each.astype("int64") for each in operands)).astype(dtype)

    return convert


def _operands(ctx: Context, dtypes: tuple[str, ...]) -> list[Any]:
    ctx.common_dtype(*dtypes)
    lhs, rhs = ctx.arrays(2)
    if lhs.shape != rhs.shape and ctx.operator.code.startswith("STABLEHLO"):
        raise UnsupportedError(f"shapes {lhs.shape} and {rhs.shape} differ")
    return [lhs, rhs]


@converter("BITCAST")
def convert_bitcast(ctx: Context) -> relax.Expr:
    """Read the bytes of numbers as another type, the lowest byte first.

    Wider numbers are split along a new last axis, narrower ones are joined along the last axis.
    """
    data = ctx.input(0)
    return read_as(ctx, data.expr, data.dtype, ctx.output().dtype)


def read_as(ctx: Context, data: relax.Expr, source: str, dtype: str) -> relax.Expr:
    """Read the bytes of numbers as numbers of another type."""
    if source == dtype:
        return data
    if not {source, dtype} <= {*_BITS, "float32"}:
        raise UnsupportedError(f"from {source} to {dtype}")
    bits = _as_other(ctx, data) if source == "float32" else data
    inner = ["int32" if each == "float32" else each for each in (source, dtype)]
    result = bits if len({*inner}) == 1 else _integers(ctx, bits, inner[0], inner[1])
    return _as_other(ctx, result) if dtype == "float32" else result


def _as_other(ctx: Context, expr: relax.Expr) -> relax.Expr:
    """Return the bits of float32 as int32, or back."""
    typed = ctx.emit(expr)
    shape = spec_of(typed).shape
    flat = ctx.emit(reshaped(typed, (prod(shape),)))
    return reshaped(ctx.emit(reinterpret(flat)), shape)


def _integers(ctx: Context, data: relax.Expr, source: str, dtype: str) -> relax.Expr:
    """Read the bytes of integers as integers of another type."""
    array, narrow = ctx.builder.array(data), min(_BITS[source], _BITS[dtype])
    parts = max(_BITS[source], _BITS[dtype]) // narrow
    if parts == 1:
        return array.astype(dtype).expr
    wide, shifts = array.astype("int64"), np.arange(parts) * narrow
    if _BITS[source] > narrow:
        apart: Any = np.expand_dims(wide, -1) >> shifts
        return apart.astype(dtype).expr
    if array.shape[-1:] != (parts,):
        raise QnnError(f"{ctx.tensor(0).label} has shape {array.shape}, needs {parts} at its end")
    bits = (wide & (2**narrow - 1)) << shifts
    return bits.sum(-1, np.int64).astype(dtype).expr


def convert_whole_power(ctx: Context) -> Any:
    """Raise int32 to powers; a power beyond int32 becomes the lowest int32.

    With one exponent for all, it wraps. A negative exponent, which ends LiteRT's run, counts as 0.
    """
    ctx.common_dtype("int32")
    ctx.check_constant(1, [inf], "powers below 0")
    data, exponent = ctx.input(0), ctx.input(1)
    if _is_one(data, exponent):
        one = relax.const(np.int32(1))
        count = ctx.emit(reshaped(exponent.expr, (1,)))
        power = _multiplied(ctx, data, count)
        return R.where(R.less(reshaped(exponent.expr, ()), one), one, power)
    base = ctx.array(0).astype("float64")
    exponents = np.maximum(ctx.array(1), 0).astype("float64")
    # A power of whole numbers within int32 is exact, or becomes exact by rounding.
    power = np.rint(np.power(base, exponents))
    result: Any = np.where(np.abs(power) < 2.0**31, power, -(2.0**31))
    return result.astype("int32")


def convert_float_power(ctx: Context) -> relax.Expr:
    """Raise float32 to powers; powers close to a natural number become products."""
    data, exponent = ctx.input(0), ctx.input(1)
    power = R.power(data.expr, exponent.expr)
    if not _is_one(data, exponent):
        return power
    if exponent.is_constant:
        value = np.float32(ctx.constant(1).item())
        count = round_half_away(value)
        if not (1 <= count < 2**31 and abs(value - count) < _NEAR):
            return power
        return _multiplied(ctx, data, relax.const(count.astype(np.int32).reshape(1)))
    array = ctx.builder.array
    value = array(reshaped(exponent.expr, (1,)))
    count = np.floor(value.astype("float64") + 0.5)
    inside = np.clip(count, 0, 2**31 - 1)
    is_inside = (inside == count) & (inside >= 1.0)
    is_near = is_inside & (np.abs(value - count.astype("float32")) < _NEAR)
    counts: Any = np.where(is_near, inside, 1.0).astype("int32")
    return R.where(reshaped(is_near.expr, ()), _multiplied(ctx, data, counts.expr), power)


def _is_one(data: Operand, exponent: Operand) -> bool:
    """Tell whether LiteRT uses one exponent for all data: its shape differs from the data's."""
    return prod(exponent.shape) == 1 and exponent.shape != data.shape


def _multiplied(ctx: Context, data: Operand, count: relax.Expr) -> relax.Expr:
    """Return a power by products, in the broadcast shape of data and exponent."""
    shape = (*[1] * (len(ctx.input(1).shape) - len(data.shape)), *data.shape)
    flat = ctx.emit(reshaped(data.expr, (prod(shape),)))
    return reshaped(ctx.emit(natural_power(flat, count)), shape)


OPERATORS.update(
    {
        "BITWISE_XOR": Row(data=applied(R.bitwise_xor, *_INTEGERS)),
        "FLOOR_DIV": Row(data=_floored(np.floor_divide, convert_floor_div, _SIGNED, is_rest=False)),
        "FLOOR_MOD": Row(
            data=_floored(np.remainder, convert_floor_mod, (*_SIGNED, "int64"), is_rest=True)
        ),
        "POW": Row(floats=convert_float_power, whole=convert_whole_power),
        **{
            code: Row(data=_stablehlo(function, of_bool), combines=function.__name__)
            for code, function, of_bool in (
                ("STABLEHLO_ADD", np.add, np.logical_or),
                ("STABLEHLO_MAXIMUM", np.maximum, np.logical_or),
                ("STABLEHLO_MINIMUM", np.minimum, np.logical_and),
                ("STABLEHLO_MULTIPLY", np.multiply, np.logical_and),
            )
        },
        "STABLEHLO_OR": Row(combines="any"),
    }
)
