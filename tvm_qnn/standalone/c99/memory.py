"""Which memory the buffers of a function lie in."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm_ffi import structural_walk


class Memory:
    """Which parameter each buffer lies in, and what a function does with it.

    TVM's hash of a variable stands for the variable.

    Attributes:
        roots: the parameter, or the function's own buffer, by buffer.
        written: those of the roots that are stored to.
        used: buffers that are read or stored to, or that such a one lies in.
        read: those that are read.
    """

    def __init__(self) -> None:
        self.roots: dict[int, int] = {}
        self.written: set[int] = set()
        self.used: set[int] = set()
        self.read: set[int] = set()

    def root(self, buffer: Any) -> int:
        """Return the parameter, or the function's own buffer, that a buffer lies in."""
        return self.roots.get(hash(buffer), hash(buffer))


def memory_of(function: tirx.PrimFunc) -> Memory:
    """Find out where the buffers of a function lie, and which it reads and stores to."""
    memory = Memory()
    stores: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.DeclBuffer):
            of = memory_in(node.data)
            memory.roots[hash(node.buffer)] = memory.root(of)
            lies_in[hash(node.buffer)] = hash(of)
        elif isinstance(node, tirx.BufferStore):
            stores.append(node.buffer)
        elif isinstance(node, TensorLoad):
            memory.used.add(hash(node.source))

    lies_in: dict[int, int] = {}
    structural_walk(function.body, visit)
    memory.written = {memory.root(buffer) for buffer in stores}
    memory.read = {*memory.used}
    memory.used |= {hash(buffer) for buffer in stores}
    for inner, outer in reversed(lies_in.items()):
        for members in (memory.used, memory.read):
            if inner in members:
                members.add(outer)
    return memory


def memory_in(data: Any) -> Any:
    """Return the parameter or buffer whose memory an expression points to."""
    while not isinstance(data, tirx.Var):
        data = data.source if isinstance(data, TensorLoad) else data.args[0]
    return data


def element_in(data: Any) -> Any:
    """Return the element that an expression points to; None if it points to a buffer's begin."""
    while not isinstance(data, tirx.Var | TensorLoad):
        data = data.args[0]
    return data if isinstance(data, TensorLoad) else None


def buffer_in(data: Any) -> Any:
    """Return the buffer whose memory an expression points to; None for a parameter."""
    found = memory_in(data)
    return None if isinstance(found.ty, tvm.ir.PointerType) else found
