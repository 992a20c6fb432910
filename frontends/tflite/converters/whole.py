"""Arithmetic of int32, int64 and bool tensors, such as places and sizes, at run time."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import bounded
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.reductions import convert_float_reduction, reduced
from frontends.tflite.converters.registry import whole_converter
from frontends.tflite.options import ConcatenationOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_FUNCTIONS: dict[str, Callable[..., relax.Expr]] = {
    "ABS": R.abs,
    "ADD": R.add,
    "MAXIMUM": R.maximum,
    "MINIMUM": R.minimum,
    "MUL": R.multiply,
    "NEG": R.negative,
    "SIGN": R.sign,
    "SQUARED_DIFFERENCE": lambda lhs, rhs: R.multiply(R.subtract(lhs, rhs), R.subtract(lhs, rhs)),
    "SUB": R.subtract,
}
# Sums and products of bool are bool.
_ANY_OF_BOOL = ("REDUCE_ANY", "REDUCE_MAX", "SUM")
_ALL_OF_BOOL = ("REDUCE_ALL", "REDUCE_MIN", "REDUCE_PROD")


@whole_converter(*_FUNCTIONS)
def convert_whole_function(ctx: Context) -> relax.Expr:
    """Combine numbers, broadcast as in numpy; what int32 does not hold wraps."""
    code, dtype, operands = ctx.operator.code, ctx.output().dtype, ctx.inputs()
    if dtype == "bool" or any(operand.tensor.dtype != dtype for operand in operands):
        raise UnsupportedError(f"from {[operand.tensor.dtype for operand in operands]} to {dtype}")
    result = _in_64_bits(ctx, _FUNCTIONS[code], [operand.expr for operand in operands])
    return _activated(ctx, result)


@whole_converter("ADD_N")
def convert_whole_add_n(ctx: Context) -> relax.Expr:
    """Add tensors of one shape."""
    operands = ctx.inputs()
    for operand in operands[1:]:
        if operand.shape != operands[0].shape:
            raise QnnError(f"shapes {operands[0].shape} and {operand.shape} differ")
    if ctx.output().dtype != "int32":
        raise UnsupportedError(f"of {ctx.output().dtype}")
    total = operands[0].expr
    for operand in operands[1:]:
        total = ctx.builder.emit(_in_64_bits(ctx, R.add, [total, operand.expr]))
    return total


@whole_converter("DIV")
def convert_whole_quotient(ctx: Context) -> relax.Expr:
    """Divide integers, and round towards zero.

    LiteRT ends a run with an error where a divisor is 0, which is taken for 1 here.
    """
    dtype, one, zero = ctx.output().dtype, relax.const(1, "int64"), relax.const(0, "int64")
    if dtype != "int32":
        raise UnsupportedError(f"of {dtype}")

    def divide(lhs: relax.Expr, rhs: relax.Expr) -> relax.Expr:
        divisor = ctx.builder.emit(R.where(R.equal(rhs, zero), one, rhs))
        size = R.floor_divide(R.abs(lhs), R.abs(divisor))
        return R.multiply(size, R.multiply(R.sign(lhs), R.sign(divisor)))

    return _activated(ctx, _in_64_bits(ctx, divide, [ctx.input(0).expr, ctx.input(1).expr]))


@whole_converter("SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")
def convert_whole_reduction(ctx: Context) -> relax.Expr:
    """Reduce along constant axes; bool to whether any or all hold."""
    code, data = ctx.operator.code, ctx.input(0)
    if ctx.output().dtype != "bool":
        if code in ("REDUCE_ANY", "REDUCE_ALL"):
            raise UnsupportedError(f"of {ctx.output().dtype}")
        return convert_float_reduction(ctx)
    if 0 in data.shape:
        raise UnsupportedError(f"{data.tensor.label} has no elements")
    function = R.max if code in _ANY_OF_BOOL else R.min

    def reduce(expr: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        # TVM reduces no bool.
        return function(ctx.builder.emit(R.astype(expr, "int8")), axes, keep)

    result = ctx.builder.emit(reduced(ctx, reduce))
    return R.greater(result, relax.const(np.int8(0)))


@whole_converter("MEAN")
def convert_whole_mean(ctx: Context) -> relax.Expr:
    """Average along constant axes, in 64 bits, and round towards zero."""
    data, dtype = ctx.input(0), ctx.output().dtype
    if dtype == "bool" or 0 in data.shape:
        raise UnsupportedError(f"the mean of {data.tensor.label}, {dtype} of shape {data.shape}")

    def average(expr: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        count = prod(spec_of(expr).shape[axis] for axis in axes)
        total = ctx.builder.emit(R.sum(ctx.builder.emit(R.astype(expr, "int64")), axes, keep))
        size = R.floor_divide(R.abs(total), relax.const(count, "int64"))
        return R.astype(R.multiply(size, R.sign(total)), dtype)

    return reduced(ctx, average)


@whole_converter("CONCATENATION")
def convert_whole_concatenation(ctx: Context) -> relax.Expr:
    """Join tensors of one type."""
    options, dtype = ctx.options(ConcatenationOptions), ctx.output().dtype
    operands = ctx.inputs()
    if any(operand.tensor.dtype != dtype for operand in operands) or options.activation != "NONE":
        raise UnsupportedError(f"from {[operand.tensor.dtype for operand in operands]} to {dtype}")
    return R.concat([operand.expr for operand in operands], options.axis)


def _activated(ctx: Context, result: relax.Expr) -> relax.Expr:
    activation = getattr(ctx.operator.options, "activation", "NONE")
    return bounded(activation, ctx.builder.emit(result), ctx.output().dtype)


def _in_64_bits(
    ctx: Context, function: Callable[..., relax.Expr], operands: list[relax.Expr]
) -> relax.Expr:
    # As TVM lets LLVM assume that nothing overflows.
    wide = [ctx.builder.emit(R.astype(operand, "int64")) for operand in operands]
    return R.astype(function(*wide), ctx.output().dtype)
