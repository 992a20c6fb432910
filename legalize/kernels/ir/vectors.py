"""Vectors: their type, expressions of them, and vectors that stay in registers.

TVM has no type stubs, so the types of arguments are names for Any.
"""

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm.script.ir_builder import tirx as T
from tvm.target import codegen

from qnn_ops.errors import QnnError

Array: TypeAlias = npt.NDArray[Any]
"""Constants, at compile time."""
Buffer: TypeAlias = Any
"""Memory to load from and store to: an argument of the function, or allocated by it."""
Sums: TypeAlias = list[list[Any]]
"""The vectors that hold a tile's sums: a row for each pixel."""
Index: TypeAlias = Any
"""An int, or an int32 or int64 expression, such as an offset in a buffer or a loop's extent."""
Vector: TypeAlias = Any
"""An expression of one lane or more."""
Expr: TypeAlias = Any
"""Any other expression."""


DWORD = 4
"""Bytes in an int32 lane, which is also how many activations a dot product multiplies in a lane."""


# The steps of Python around these functions take several times as long.
_CALL, _LOAD, _STORE = map(
    tvm.get_global_func,
    ("ir.Call", "tirx.BufferLoad", "script.ir_builder.tirx.BufferStore"),
)
_PURE = tvm.ir.Op.get("tirx.call_llvm_pure_intrin")
_EXTERN = tvm.ir.Op.get("tirx.call_extern")


def instruction(dtype: str, name: str, *operands: Vector) -> Vector:
    """Call a function of LLVM without effects; all operands are expressions."""
    return _CALL(_type(dtype), _PURE, (_number(name), *operands), None, (), None)


def extern(dtype: str, name: str, *operands: Vector) -> Vector:
    """Call a function of the linker; all operands are expressions."""
    return _CALL(_type(dtype), _EXTERN, (tvm.ir.StringImm(name), *operands), None, (), None)


def load(buffer: Buffer, index: Index) -> Vector:
    """Load the element at an index, or the elements of a ramp, from a buffer of one axis."""
    return _LOAD(buffer, (index,), None)


def store(buffer: Buffer, value: Vector, index: Index) -> None:
    """Store an element at an index, or a vector at a ramp, in a buffer of one axis."""
    _STORE(buffer, value, (index,))


@lru_cache
def _number(name: str) -> Any:
    number = codegen.llvm_lookup_intrinsic_id(name)
    if not number:
        raise QnnError(f"LLVM has no function {name}")  # its code generator would crash
    return tirx.IntImm("uint32", number)


@lru_cache
def _type(dtype: str) -> Any:
    return tvm.ir.PrimType(dtype)


def lanes_in(value: Vector) -> int:
    """Count the lanes of an expression."""
    return int(value.ty.dtype.lanes)


def unsigned_min(value: Vector, limit: Index) -> Index:
    """Return the smaller of two numbers of one dtype, int32 or int64, that are not negative.

    TVM's own minimum tells LLVM one bound only. With both bounds of a constant limit, LLVM knows
    that addresses made of it do not overflow, and does not widen each from 32 to 64 bits.
    """
    dtype = str(value.ty.dtype)
    limit = splat(dtype, limit, 1) if isinstance(limit, int) else limit
    return instruction(dtype, f"llvm.umin.{dtype.replace('int', 'i')}", value, limit)


def local_vector(lanes: int = 16, dtype: str = "int32") -> Buffer:
    """Allocate a vector that LLVM keeps in a register.

    LLVM does so only for a buffer below 1 KiB of scope "global", which TVM leaves on the stack.
    """
    # An explicit None saves TVM a search of all frames for a layout.
    return T.alloc_buffer((lanes,), dtype, scope="global", layout=None)


def get_lanes(buffer: Buffer, lanes: int | None = None) -> Vector:
    """Read the first elements of a local vector: ``lanes`` of them, or all if that is None."""
    return load(buffer, _first(lanes or int(buffer.shape[0])))


def set_lanes(buffer: Buffer, value: Vector, lanes: int | None = None) -> None:
    """Write the first lanes of a local vector, or all."""
    store(buffer, value, _first(lanes or int(buffer.shape[0])))


@lru_cache
def _first(lanes: int) -> Index:
    return tirx.IntImm("int32", 0) if lanes == 1 else T.ramp(0, 1, lanes)


def fetch(buffer: Buffer, place: Index, level: int = 1) -> None:
    """Prefetch a line into a level of caches. Past the end of the buffer this is harmless."""
    # LLVM counts levels from the processor: 3 is the first one. The others say: data, to read.
    flags = [T.int32(flag) for flag in (0, 4 - level, 1)]
    address = T.address_of(buffer[place])
    T.evaluate(T.call_llvm_intrin("void", "llvm.prefetch.p0", address, *flags))


# These classes have no subclasses, and ``isinstance`` is slow for classes of TVM.
_BOUND = (tvm.ir.Call, TensorLoad)


def kept(value: Vector) -> Vector:
    """Keep a vector, or a number, in a register of its own.

    Otherwise TVM writes the expression wherever it is used, and each of its passes visits every
    copy.
    """
    if isinstance(value, int):
        return value
    if type(value) in _BOUND:
        return T.Bind(value)
    # This is no binding: TVM would compute the bounds of its lanes wrongly.
    dtype = value.ty.dtype
    lanes = int(dtype.lanes)
    buffer = local_vector(lanes, str(dtype).split("x")[0])
    set_lanes(buffer, value, lanes)
    return get_lanes(buffer, lanes)


def store_pieces(vectors: int) -> list[tuple[int, int]]:
    """Cut a block of vectors into stores of 4, 2 and 1 vectors: (first vector, vectors)."""
    pieces = []
    first = 0
    for size in (4, 2, 1):
        while vectors - first >= size:
            pieces.append((first, size))
            first += size
    return pieces


def splat(dtype: str, value: float | Vector, lanes: int) -> Vector:
    """Return a constant, ``lanes`` times, or a scalar for one lane; a vector stays as it is."""
    if not isinstance(value, (int, float, np.number)):
        return value
    scalar = getattr(T, dtype)(value)
    return scalar if lanes == 1 else T.broadcast(scalar, lanes)


def vector_of(dtype: str, lanes: int) -> str:
    """Name a vector's dtype; a scalar's for one lane."""
    return dtype if lanes == 1 else f"{dtype}x{lanes}"


def spread(value: Vector, lanes: int) -> Vector:
    """Repeat a scalar ``lanes`` times; return a vector of this many lanes unchanged."""
    return value if lanes_in(value) == lanes else T.broadcast(value, lanes)


def flipped(value: Vector) -> Vector:
    """Add 128 to bytes, modulo 256, which turns int8 into uint8 of the same order, and back."""
    return T.bitwise_xor(value, splat("uint8", 128, lanes_in(value)))


def as_unsigned(value: Vector, dtype: str) -> Vector:
    """Subtract the lowest value of ``dtype`` from bytes: uint8."""
    if dtype == "uint8":
        return value
    lanes = lanes_in(value)
    return flipped(T.reinterpret(vector_of("uint8", lanes), value))


def clamped(value: Vector, low: int, high: int) -> Vector:
    """Clamp uint8, if that has any effect."""
    lanes = lanes_in(value)
    if low > 0:
        value = T.max(value, splat("uint8", low, lanes))
    if high < np.iinfo(np.uint8).max:
        value = T.min(value, splat("uint8", high, lanes))
    return value


def filled(value: Vector, size: int) -> Vector:
    """Return a vector of bytes repeated to ``size``."""
    lanes = lanes_in(value)
    if lanes == 1:
        return T.broadcast(value, size)
    if lanes == size:
        return value
    return T.Shuffle([value] * (size // lanes), list(range(size)))


def first_lanes(value: Vector, lanes: int) -> Vector:
    """Return the first lanes of a vector."""
    if lanes == lanes_in(value):
        return value
    return T.Shuffle([value], [0] if lanes == 1 else list(range(lanes)))


_SIGNS = {"int": "s", "uint": "u", "float": "f"}


def reduced(operation: str, value: Vector) -> Vector:
    """Combine all lanes of a vector.

    Args:
        operation: ``add``, of integers; ``max`` or ``min``, of numbers.
        value: the vector, or a single number, which is the result.
    """
    lanes = lanes_in(value)
    if lanes == 1:
        return value
    dtype = str(value.ty.dtype).split("x")[0]
    kind = dtype.rstrip("0123456789")
    name = operation if operation == "add" else _SIGNS[kind] + operation
    suffix = f"v{lanes}{kind.lstrip('u')[0]}{dtype.removeprefix(kind)}"
    return instruction(dtype, f"llvm.vector.reduce.{name}.{suffix}", value)
