"""Functions written as loops: their calls, and TFLite's rescaling of integers in them."""

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax, tirx
from tvm.relax import Expr
from tvm.script.ir_builder import tirx as T

from legalize.loop_functions import add_function
from legalize.primitives.registry import Builder
from legalize.written import new_function
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import variables_of


def call_loops(
    builder: Builder,
    name: str,
    operands: Sequence[Expr],
    shape: tuple[int, ...],
    dtype: str,
    write: Callable[..., None],
) -> Expr:
    """Add a function of loops to the module and call it.

    Args:
        builder: the module's builder.
        name: the function's name, if no other has it.
        operands: tensors.
        shape: the result's shape.
        dtype: the result's dtype.
        write: writes the loops, given a buffer for each operand and one for the result.
    """
    operands = [builder.normalize(operand) for operand in operands]
    kinds = [(spec.shape, spec.dtype) for spec in map(spec_of, operands)]
    with new_function(name) as writer:
        given = [T.arg(f"operand{i}", T.buffer(*kind)) for i, kind in enumerate(kinds)]
        write(*given, T.arg("output", T.buffer(shape, dtype)))
    function = writer.get()
    sizes = _unknown_sizes(function)
    if sizes:
        *inner, result = function.params
        params = [*inner, *sizes, result]
        function = tirx.PrimFunc(params, function.body, function.ret_type, function.attrs)
    variable = add_function(builder, name, function)
    return relax.call_tir(variable, [*operands, *sizes], relax.TensorType(shape, dtype))


def _unknown_sizes(function: tirx.PrimFunc) -> list[Any]:
    """Return the open sizes that are no size of a shape, only parts of expressions."""
    sizes = [size for each in function.params for size in each.shape]
    known = [size for size in sizes if isinstance(size, tirx.Var)]
    found = variables_of(relax.ShapeExpr(sizes)) if sizes else []
    return [each for each in found if not any(each.same_as(other) for other in known)]


def cell(dtype: str, value: Any) -> Any:
    """Allocate memory for one number with a first value; read it as ``cell[0]``."""
    memory = T.alloc_buffer((1,), dtype, scope="global")
    put(memory, value)
    return memory


def cells(dtype: str, count: int) -> Any:
    """Allocate memory for numbers, all 0: compilers warn if they see no first store."""
    memory = T.alloc_buffer((count,), dtype, scope="global")
    with T.serial(count) as i:
        put(memory, T.Cast(dtype, 0), i)
    return memory


def put(memory: Any, value: Any, place: Any = 0) -> None:
    """Write a number to memory."""
    T.buffer_store(memory, value, [place])


def rescaled(x: Any, multiplier: Any, shift: int) -> Any:
    """Rescale int32 as qnn_ops.arithmetic.fixed_point.multiply_by_quantized_multiplier does.

    Args:
        x: int32; a left shift wraps.
        multiplier: a number, or int32.
        shift: positive to the left.
    """
    if shift > 0:
        x = as_int32(T.shift_left(as_int64(x), T.int64(shift)))
    product = as_int64(x) * as_int64(multiplier)
    high = as_int32(T.shift_right(product + T.int64(1 << 30), T.int64(31)))
    return divided(high, T.int32(-shift)) if shift < 0 else high


def divided(x: Any, exponent: Any) -> Any:
    """Divide int32 by 2^exponent, at least 2, as rounding_divide_by_pot does."""
    value = cell("int32", x)
    # Ties round away from zero: a negative number rounds down.
    half = T.shift_left(T.int32(1), exponent - 1) + T.shift_right(value[0], T.int32(31))
    return T.shift_right(value[0] + half, exponent)


def clamped(x: Any, low: int, high: int) -> Any:
    """Clamp int32."""
    return T.max(T.min(x, T.int32(high)), T.int32(low))


def as_int32(x: Any) -> Any:
    """Convert an integer to int32; larger integers wrap."""
    return T.Cast("int32", x)


def as_int64(x: Any) -> Any:
    """Convert an integer to int64."""
    return T.int64(x) if isinstance(x, int) else T.Cast("int64", x)
