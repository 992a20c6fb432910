"""Arithmetic of int32 and int64 tensors, such as places and sizes, at run time."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.reductions import convert_float_reduction
from frontends.tflite.converters.registry import whole_converter
from frontends.tflite.options import ConcatenationOptions

_FUNCTIONS: dict[str, Callable[..., relax.Expr]] = {
    "ABS": R.abs,
    "ADD": R.add,
    "MAXIMUM": R.maximum,
    "MINIMUM": R.minimum,
    "MUL": R.multiply,
    "NEG": R.negative,
    "SUB": R.subtract,
}


@whole_converter(*_FUNCTIONS)
def convert_whole_function(ctx: Context) -> relax.Expr:
    """Combine numbers, broadcast as in numpy; what int32 does not hold wraps."""
    code, dtype, operands = ctx.operator.code, ctx.output().dtype, ctx.inputs()
    if any(operand.tensor.dtype != dtype for operand in operands):
        raise UnsupportedError(f"from {[operand.tensor.dtype for operand in operands]} to {dtype}")
    if getattr(ctx.operator.options, "activation", "NONE") != "NONE":
        raise UnsupportedError(f"a fused activation of {dtype}")
    # In 64 bits, as TVM lets LLVM assume that nothing overflows.
    wide = [R.astype(operand.expr, "int64") for operand in operands]
    return R.astype(_FUNCTIONS[code](*wide), dtype)


@whole_converter("SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")
def convert_whole_reduction(ctx: Context) -> relax.Expr:
    """Reduce along constant axes."""
    return convert_float_reduction(ctx)


@whole_converter("CONCATENATION")
def convert_whole_concatenation(ctx: Context) -> relax.Expr:
    """Join tensors of one type."""
    options, dtype = ctx.options(ConcatenationOptions), ctx.output().dtype
    operands = ctx.inputs()
    if any(operand.tensor.dtype != dtype for operand in operands) or options.activation != "NONE":
        raise UnsupportedError(f"from {[operand.tensor.dtype for operand in operands]} to {dtype}")
    return R.concat([operand.expr for operand in operands], options.axis)
