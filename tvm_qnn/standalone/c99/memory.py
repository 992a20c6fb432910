"""Finds the memory in which a function's buffers lie."""

from typing import Any

import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm_ffi import structural_walk


class Memory:
    """The parameter in which each buffer lies, and how the function uses it.

    Variables are identified by TVM's hash.

    Attributes:
        roots: the parameter, or the function's own buffer, in which each buffer lies.
        written: the roots that are stored to.
        used: the buffers that are read or stored to, and those that contain such buffers.
        read: the buffers that are read, and those that contain such buffers.
    """

    def __init__(self) -> None:
        self.roots: dict[int, int] = {}
        self.written: set[int] = set()
        self.used: set[int] = set()
        self.read: set[int] = set()

    def root(self, buffer: Any) -> int:
        """Return the parameter, or the function's own buffer, in which a buffer lies."""
        return self.roots.get(hash(buffer), hash(buffer))


def memory_of(function: tirx.PrimFunc) -> Memory:
    """Find where a function's buffers lie, and which of them it reads and stores to."""
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
    """Return the element that an expression points to; None if it points to a whole buffer."""
    while not isinstance(data, tirx.Var | TensorLoad):
        data = data.args[0]
    return data if isinstance(data, TensorLoad) else None


def buffer_in(data: Any) -> Any:
    """Return the buffer whose memory an expression points to; None for a parameter."""
    found = memory_in(data)
    return None if isinstance(found.ty, tvm.ir.PointerType) else found
