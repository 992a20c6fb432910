"""Functions whose arguments and loops are written one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def own_sizes() -> Callable[[Any], Any]:
    """Return a function that replaces open sizes by variables of a new function.

    Equal sizes become one variable; numbers stay.
    """
    own: dict[str, tirx.Var] = {}

    def size_of(size: Any) -> Any:
        return own.setdefault(str(size), tirx.Var("size", "int64")) if is_open([size]) else size

    return size_of


def flat(buffer: Any) -> Any:
    """Return a buffer as one with a single dimension."""
    sizes = [int(each) if isinstance(each, tirx.IntImm) else each for each in buffer.shape]
    return T.decl_buffer((prod(sizes),), str(buffer.dtype), data=buffer.data)
