"""Vector expressions of AVX512 and AVX512-VNNI that TVM has no operator for."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T


def dot_bytes(accumulator: Any, unsigned: Any, signed: Any, lanes: int = 16) -> Any:
    """Vpdpbusd: add to each int32 lane four products of unsigned and signed bytes."""
    return T.call_llvm_pure_intrin(
        f"int32x{lanes}",
        f"llvm.x86.avx512.vpdpbusd.{32 * lanes}",
        accumulator,
        unsigned,
        signed,
    )


def broadcast_bytes(buffer: Any, offset: Any, lanes: int = 16) -> Any:
    """Load four bytes and repeat them in each int32 lane: uint8x(4·lanes)."""
    dword = T.reinterpret("int32", buffer[T.ramp(offset, 1, 4)])
    return T.reinterpret(f"uint8x{4 * lanes}", T.broadcast(dword, lanes))


def narrow_pair(a: Any, b: Any) -> Any:
    """Vpackssdw: two int32x16 to int16x32, saturating, interleaved by quarters."""
    return T.call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.packssdw.512", a, b)


def narrow_to_bytes(a: Any, b: Any, dtype: str) -> Any:
    """Vpackuswb or vpacksswb: two int16x32 to 64 bytes, saturating, interleaved by quarters."""
    name = "packuswb" if dtype == "uint8" else "packsswb"
    return T.call_llvm_pure_intrin(f"{dtype}x64", f"llvm.x86.avx512.{name}.512", a, b)


def sum_lanes(value: Any, lanes: int) -> Any:
    """Add the int32 lanes of a vector."""
    return T.call_llvm_pure_intrin("int32", f"llvm.vector.reduce.add.v{lanes}i32", value)


def unsigned_min(value: Any, limit: int) -> Any:
    """The smaller of an int32 that is not negative and a constant.

    Unlike a minimum of TVM's it tells LLVM both bounds: that addresses made of it do not
    overflow, and need no widening from 32 to 64 bits each.
    """
    return T.call_llvm_pure_intrin("int32", "llvm.umin.i32", value, T.int32(limit))


def local_vector(lanes: int = 16, dtype: str = "int32") -> Any:
    """Allocate a vector that LLVM keeps in a register.

    It does so only for a buffer below 1 KiB of scope "global", which TVM leaves on the stack.
    """
    return T.alloc_buffer((lanes,), dtype, scope="global")


def lanes_of(buffer: Any, lanes: int = 16) -> Any:
    """Read all lanes of a local vector."""
    return buffer[T.ramp(0, 1, lanes)]


def set_lanes(buffer: Any, value: Any, lanes: int = 16) -> None:
    """Write all lanes of a local vector."""
    T.buffer_store(buffer, value, [T.ramp(0, 1, lanes)])
