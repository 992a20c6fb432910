"""Small functions for the tests of emulators."""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T


def doubler(size: int, dtype: str) -> Any:
    """Return a function that doubles each element."""
    data = te.placeholder((size,), dtype)
    doubled = te.compute((size,), lambda i: data[i] + data[i])
    return te.create_prim_func([data, doubled])


def copier(size: int, reads: int, writes: int) -> Any:
    """A function that reads and writes as many bytes as told, from where its buffers begin."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("copy")
        source, target = (T.arg(name, T.buffer((size,), "int8")) for name in ("source", "target"))
        with T.sblock("root"):
            T.reads()
            T.writes()
            flat = T.decl_buffer((reads,), "int8", data=source.data)
            out = T.decl_buffer((writes,), "int8", data=target.data)
            with T.serial(0, max(reads, writes)) as i:
                T.buffer_store(out, flat[T.min(i, reads - 1)], [T.min(i, writes - 1)])
    return builder.get()
