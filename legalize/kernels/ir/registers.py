"""Vectors that stay in registers, on any processor."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.types import Buffer, Index, Vector

DWORD = 4
"""Bytes in an int32 lane, which is also how many activations a dot product multiplies in a lane."""


def lanes_in(value: Vector) -> int:
    """Count the lanes of an expression."""
    return int(value.ty.dtype.lanes)


def unsigned_min(value: Vector, limit: int) -> Index:
    """Return the smaller of an int32 that is not negative and a constant.

    TVM's own minimum tells LLVM one bound only. With both, LLVM knows that addresses made of it do
    not overflow, and does not widen each from 32 to 64 bits.
    """
    return T.call_llvm_pure_intrin("int32", "llvm.umin.i32", value, T.int32(limit))


def local_vector(lanes: int = 16, dtype: str = "int32") -> Buffer:
    """Allocate a vector that LLVM keeps in a register.

    LLVM does so only for a buffer below 1 KiB of scope "global", which TVM leaves on the stack.
    """
    # Its layout is None: TVM would look through all frames to find out that it is.
    return T.alloc_buffer((lanes,), dtype, scope="global", layout=None)


def get_lanes(buffer: Buffer, lanes: int = 16) -> Vector:
    """Read all lanes of a local vector."""
    return buffer[T.ramp(0, 1, lanes)]


def set_lanes(buffer: Buffer, value: Vector, lanes: int = 16) -> None:
    """Write all lanes of a local vector."""
    T.buffer_store(buffer, value, [T.ramp(0, 1, lanes)])


def kept(value: Vector) -> Vector:
    """Keep a vector, or a number, in a register of its own.

    Otherwise TVM writes the expression wherever it is used, and each of its passes visits every
    copy.
    """
    if isinstance(value, int):
        return value
    dtype = value.ty.dtype
    lanes = int(dtype.lanes)
    buffer = local_vector(lanes, str(dtype).split("x")[0])
    if lanes == 1:
        T.buffer_store(buffer, value, [0])
        return buffer[0]
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
