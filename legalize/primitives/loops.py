"""Functions that are written as loops: their calls, and TFLite's rescaling of integers in them."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import tirx as T

from legalize.loop_functions import add_function
from qnn_ops.registry import spec_of
from qnn_ops.sizes import Size


def call_loops(
    builder: relax.BlockBuilder,
    name: str,
    function: tirx.PrimFunc,
    operands: list[relax.Expr],
    shape: tuple[int, ...],
    dtype: str,
) -> relax.Expr:
    """Add a function to the module and call it.

    Args:
        builder: of the module.
        name: of the function, if no other has it.
        function: of the operands and the result.
        operands: tensors.
        shape: of the result.
        dtype: of the result.
    """
    operands = [builder.normalize(operand) for operand in operands]
    shapes = (*(spec_of(operand).shape for operand in operands), shape)
    open_ones: list[tirx.Var] = []
    for size in (size for each in shapes for size in each if isinstance(size, Size)):
        for found in size.variables():
            if not any(found.same_as(each) for each in open_ones):
                open_ones.append(found)
    if open_ones:  # a function takes them as numbers, behind its operands
        count = len(operands)
        parameters = [*function.params[:count], *open_ones, *function.params[count:]]
        function = tirx.PrimFunc(parameters, function.body, function.ret_type, function.attrs)
    variable = add_function(builder, name, function)
    return relax.call_tir(variable, [*operands, *open_ones], relax.TensorType(shape, dtype))


def cell(dtype: str, value: Any) -> Any:
    """Write memory of one number with its first value; it is read as ``cell[0]``."""
    memory = T.alloc_buffer((1,), dtype, scope="global")
    put(memory, value)
    return memory


def put(memory: Any, value: Any, place: Any = 0) -> None:
    """Write a number to memory."""
    T.buffer_store(memory, value, [place])


def rescaled(x: Any, multiplier: Any, shift: int) -> Any:
    """Rescale int32 as qnn_ops.arithmetic.multiply_by_quantized_multiplier does.

    Args:
        x: what a shift to the left takes out of 32 bits wraps.
        multiplier: a number, or int32.
        shift: positive to the left.
    """
    if shift > 0:
        x = as_int32(T.shift_left(as_int64(x), T.int64(shift)))
    product = as_int64(x) * as_int64(multiplier)
    high = as_int32(T.shift_right(product + T.int64(1 << 30), T.int64(31)))
    return divided(high, T.int32(-shift)) if shift < 0 else high


def divided(x: Any, exponent: Any) -> Any:
    """Divide int32 by 2^exponent, at least 2, as qnn_ops.arithmetic.rounding_divide_by_pot does."""
    value = cell("int32", x)
    # Half away from zero: a negative number rounds down at a tie.
    half = T.shift_left(T.int32(1), exponent - 1) + T.shift_right(value[0], T.int32(31))
    return T.shift_right(value[0] + half, exponent)


def clamped(x: Any, low: int, high: int) -> Any:
    """Clamp int32."""
    return T.max(T.min(x, T.int32(high)), T.int32(low))


def as_int32(x: Any) -> Any:
    """Convert an integer; what int32 does not hold wraps."""
    return T.Cast("int32", x)


def as_int64(x: Any) -> Any:
    """Convert an integer."""
    return T.int64(x) if isinstance(x, int) else T.Cast("int64", x)
