"""DIV of quantized tensors, and FLOOR_DIV and FLOOR_MOD of integers."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import clamp_range
from frontends.tflite.converters.context import Array, Context, per_tensor
from frontends.tflite.converters.registry import FLOAT, converter, data_converter
from frontends.tflite.options import DivOptions
from qnn_ops import QnnError
from qnn_ops.attributes import dtype_range
from qnn_ops.pair_tables import quotient_table

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

    LiteRT ends a run with an error where a divisor is 0, which is taken for 1 here.
    """
    code, lhs, rhs = ctx.operator.code, ctx.input(0), ctx.input(1)
    dtype = ctx.output().dtype
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
