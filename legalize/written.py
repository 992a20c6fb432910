"""Functions whose arguments and loops are written one by one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from qnn_ops.dialect.sizes import is_open


@contextmanager
def new_function(name: str, *, noalias: bool = True) -> Iterator[IRBuilder]:
    """Write a function inside of the block; after it the builder has the function.

    Args:
        name: of the function.
        noalias: whether LLVM is told that no two buffers overlap.

    Yields:
        The builder.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name(name)
        T.func_attr({"global_symbol": name, "tirx.noalias": noalias})
        yield builder


def flat(buffer: Any, dtype: str | None = None) -> Any:
    """Return a buffer as one with a single dimension, of another dtype if one is given."""
    size = prod(int(each) if isinstance(each, tirx.IntImm) else each for each in buffer.shape)
    return T.decl_buffer((size,), dtype or str(buffer.dtype), data=buffer.data)


def own_sizes(shape: Sequence[Any], own: dict[str, Any]) -> tuple[Any, ...]:
    """Return a shape whose open sizes are variables of the function that is being written.

    Args:
        shape: the shape of one of the function's tensors.
        own: the variables, by the open sizes that they stand for. New ones are added.
    """
    return tuple(
        own.setdefault(str(size), tirx.Var("size", "int64")) if is_open([size]) else size
        for size in shape
    )
