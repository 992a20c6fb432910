"""Functions whose arguments and loops are written one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T


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


def flat(buffer: Any) -> Any:
    """Return a buffer of known sizes as one with a single dimension."""
    size = prod(int(each) for each in buffer.shape)
    return T.decl_buffer((size,), str(buffer.dtype), data=buffer.data)
