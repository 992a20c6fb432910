"""Calls of functions that are written as loops, where Relax has no operators for what they do."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import tirx as T

from legalize.loop_functions import add_function


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
    variable = add_function(builder, name, function)
    operands = [builder.normalize(operand) for operand in operands]
    return relax.call_tir(variable, operands, relax.TensorType(shape, dtype))


def cell(dtype: str, value: Any) -> Any:
    """Write memory of one number with its first value; it is read as ``cell[0]``."""
    memory = T.alloc_buffer((1,), dtype, scope="global")
    put(memory, value)
    return memory


def put(memory: Any, value: Any, place: Any = 0) -> None:
    """Write a number to memory."""
    T.buffer_store(memory, value, [place])
