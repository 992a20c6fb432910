"""Finds the memory in which a function's buffers lie, and properties of TIR expressions."""

import re
from collections.abc import Container, Mapping
from typing import Any

import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm_ffi import structural_walk

from legalize.passes.bodies import BARRIER


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


def magnitude(node: Any, known: Mapping[int, int]) -> int:
    """Return the largest absolute value that an integer can have.

    Args:
        node: the expression.
        known: the largest absolute values of variables, by their hashes.
    """
    dtype = scalar_dtype(node)
    own = 2 ** (int(re.sub(r"\D", "", dtype) or 1) - (not dtype.startswith("u")))
    match node:
        case tirx.IntImm():
            return abs(int(node.value))
        case tirx.Var():
            return known.get(hash(node), own)
        case tirx.Add() | tirx.Sub():
            return magnitude(node.a, known) + magnitude(node.b, known)
        case tirx.Mul():
            return magnitude(node.a, known) * magnitude(node.b, known)
        case tirx.Min() | tirx.Max():
            return max(magnitude(node.a, known), magnitude(node.b, known))
        case tirx.Div() | tirx.Mod():
            return magnitude(node.a, known)
        case tirx.RShift() if isinstance(node.b, tirx.IntImm):
            return (magnitude(node.a, known) >> int(node.b.value)) + 1
        case tirx.Cast() if "int" in str(node.value.ty) and dtype.startswith("int"):
            return min(magnitude(node.value, known), own)
    return own


def may_fail(value: Any, inlined: Container[int]) -> bool:
    """Tell whether an expression reads memory or divides integers; a choice may guard it.

    Args:
        value: the expression.
        inlined: the hashes of variables whose expressions may fail and are written in their place.
    """
    found: list[Any] = []

    def visit(node: Any) -> None:
        divides = isinstance(node, tirx.Div | tirx.Mod) and "int" in str(node.ty)
        stands = isinstance(node, tirx.Var) and hash(node) in inlined
        if divides or stands or isinstance(node, TensorLoad):
            found.append(node)

    structural_walk(value, visit)
    return bool(found)


def does_nothing(value: Any) -> bool:
    """Tell whether a statement is only a number, or a barrier between joined bodies."""
    is_barrier = isinstance(value, tvm.ir.Call) and value.args[0] == BARRIER
    return is_barrier or isinstance(value, tirx.IntImm)


def dtype_of(buffer: Any) -> str:
    """Return the type of a buffer's elements."""
    return str(buffer.dtype)


def scalar_dtype(node: Any) -> str:
    """Return the type of an expression; for a vector, the type of its elements."""
    return str(node.ty).partition("x")[0]


def lanes(node: Any) -> int:
    """Count the elements of a vector; a scalar has one."""
    return int(str(node.ty).partition("x")[2] or 1)


def is_zero(number: Any) -> bool:
    """Tell whether an expression is the number 0."""
    return number is None or (isinstance(number, tirx.IntImm) and int(number.value) == 0)
