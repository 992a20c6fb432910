"""Vector expressions of x86 for which TVM has no operator."""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Index, Vector, instruction, lanes_in

# Round by the processor's state, which is to nearest; or down; or towards zero, without an
# exception.
_CURRENT, _DOWN, _TO_ZERO = 4, 9, 11

SIZES = (16, 32, 64)
"""The bytes of registers."""

# LLVM's names of instructions on registers of these sizes, by the usual name.
_NAMES = {
    "packssdw": ("sse2.packssdw.128", "avx2.packssdw", "avx512.packssdw.512"),
    "packsswb": ("sse2.packsswb.128", "avx2.packsswb", "avx512.packsswb.512"),
    "packuswb": ("sse2.packuswb.128", "avx2.packuswb", "avx512.packuswb.512"),
    "pmaddubsw": ("ssse3.pmadd.ub.sw.128", "avx2.pmadd.ub.sw", "avx512.pmaddubs.w.512"),
    "pmaddwd": ("sse2.pmadd.wd", "avx2.pmadd.wd", "avx512.pmaddw.d.512"),
    "pmulhrsw": ("ssse3.pmul.hr.sw.128", "avx2.pmul.hr.sw", "avx512.pmul.hr.sw.512"),
    "pmulhuw": ("sse2.pmulhu.w", "avx2.pmulhu.w", "avx512.pmulhu.w.512"),
    "pmulhw": ("sse2.pmulh.w", "avx2.pmulh.w", "avx512.pmulh.w.512"),
    "pshufb": ("ssse3.pshuf.b.128", "avx2.pshuf.b", "avx512.pshuf.b.512"),
}


def sized(name: str, dtype: str, first: Vector, second: Vector) -> Vector:
    """Call an instruction on two registers of any size; the result has lanes of ``dtype``."""
    size = int(first.ty.dtype.bits) * lanes_in(first) // 8
    lanes = 8 * size // int(dtype.lstrip("uint"))
    intrinsic = _NAMES[name][SIZES.index(size)]
    return instruction(f"{dtype}x{lanes}", f"llvm.x86.{intrinsic}", first, second)


def dot_bytes(accumulator: Vector, unsigned: Vector, signed: Vector, lanes: int = 16) -> Vector:
    """Add to each int32 lane four products of unsigned and signed bytes (vpdpbusd)."""
    name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    return instruction(f"int32x{lanes}", name, accumulator, unsigned, signed)


def add_pairs(first: Vector, second: Vector) -> Vector:
    """Multiply two vectors of int16, and add neighbouring products: int32 (vpmaddwd)."""
    return sized("pmaddwd", "int32", first, second)


def add_to_pairs(accumulator: Vector, first: Vector, second: Vector) -> Vector:
    """Add to each int32 lane of 16 two products of int16, modulo 2^32 (vpdpwssd)."""
    name = "llvm.x86.avx512.vpdpwssd.512"
    return instruction("int32x16", name, accumulator, first, second)


def wrapped(operation: str, first: Vector, second: Vector) -> Vector:
    """Add, subtract or multiply int32 modulo 2^32: ``add``, ``sub`` or ``mul``.

    TVM's own operators promise LLVM that no result leaves int32.
    """
    lanes = lanes_in(first)
    everywhere = T.broadcast(T.bool(True), lanes), T.uint32(lanes)
    name = f"llvm.vp.{operation}.v{lanes}i32"
    return instruction(f"int32x{lanes}", name, first, second, *everywhere)


def broadcast_bytes(buffer: Buffer, offset: Index, lanes: int = 16) -> Vector:
    """Load four bytes and repeat them in each int32 lane: uint8x(4·lanes)."""
    dword = T.reinterpret("int32", buffer[T.ramp(offset, 1, 4)])
    return T.reinterpret(f"uint8x{4 * lanes}", T.broadcast(dword, lanes))


def to_int32(value: Vector) -> Vector:
    """Round float32 to int32, half to even; values out of range become the lowest (cvtps2dq)."""
    lanes = lanes_in(value)
    result = f"int32x{lanes}"
    if lanes == 16:
        zeros = T.broadcast(T.int32(0), lanes)
        name = "llvm.x86.avx512.mask.cvtps2dq.512"
        mode = T.int32(_CURRENT)
        return instruction(result, name, value, zeros, T.int16(-1), mode)
    name = {4: "llvm.x86.sse2.cvtps2dq", 8: "llvm.x86.avx.cvt.ps2dq.256"}[lanes]
    return instruction(result, name, value)


def floor_of_product(value: Vector, factor: Vector, addend: Vector) -> Vector:
    """Return the floor of value · factor + addend, int32x16, of float32x16."""
    total = _fused(value, factor, addend, _DOWN)
    zeros = T.broadcast(T.int32(0), 16)
    name = "llvm.x86.avx512.mask.cvtps2dq.512"
    return instruction("int32x16", name, total, zeros, T.int16(-1), T.int32(_DOWN))


def truncated_product(value: Vector, factor: Vector, addend: Vector) -> Vector:
    """Return value · factor + addend truncated, int32x16, of float32x16."""
    return T.Cast("int32x16", _fused(value, factor, addend, _TO_ZERO))


def _fused(value: Vector, factor: Vector, addend: Vector, rounding: int) -> Vector:
    name = "llvm.x86.avx512.vfmadd.ps.512"
    return instruction("float32x16", name, value, factor, addend, T.int32(rounding))


def narrow_pair(a: Vector, b: Vector) -> Vector:
    """Narrow two int32 vectors to one of int16, saturating, interleaved by 128 bits (vpackssdw)."""
    return sized("packssdw", "int16", a, b)


def narrow_to_bytes(a: Vector, b: Vector, dtype: str) -> Vector:
    """Narrow two int16 vectors to bytes, saturating, by 128 bits (vpacksswb, vpackuswb)."""
    return sized("packuswb" if dtype == "uint8" else "packsswb", dtype, a, b)


def unpack(first: Vector, second: Vector, half: int, element: int) -> Vector:
    """Interleave elements of ``element`` bytes of half of each 16 bytes (vpunpckl or vpunpckh)."""
    lanes, width = lanes_in(first), int(first.ty.dtype.bits) // 8
    quarter, size = 16 // width, element // width
    places = [
        which * lanes + start + half * quarter // 2 + place + lane
        for start in range(0, lanes, quarter)
        for place in range(0, quarter // 2, size)
        for which in (0, 1)
        for lane in range(size)
    ]
    return T.Shuffle([first, second], places)


def shuffle_bytes(value: Vector, places: Vector) -> Vector:
    """Take bytes by index from each 16; zero if bit 7 of an index is set (vpshufb)."""
    return sized("pshufb", "uint8", value, places)


def sum_lanes(value: Vector, lanes: int) -> Vector:
    """Add the int32 lanes of a vector."""
    return instruction("int32", f"llvm.vector.reduce.add.v{lanes}i32", value)
