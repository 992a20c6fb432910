"""Sums of the data in each pixel's window, which a kernel with a zero point needs."""

from dataclasses import replace

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.arm.runs import Piece, pieces
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import (
    DWORD,
    Buffer,
    Index,
    Vector,
    get_lanes,
    local_vector,
    reduced,
    set_lanes,
)
from legalize.kernels.isa.arm import REGISTER_BYTES, DotProducts, Isa, MatrixProducts
from legalize.kernels.isa.neon import LANES


def window_sum(spec: ConvSpec, isa: Isa, source: Buffer, origin: Index) -> Vector:
    """Write the sum of a window of the staged data, whose first byte lies at ``origin``."""
    acc = local_vector(LANES)
    set_lanes(acc, T.broadcast(T.int32(0), LANES), LANES)
    cut = pieces(spec.run_length, replace(isa, depth=DWORD, largest=REGISTER_BYTES))
    whole = spec.run_length // REGISTER_BYTES

    def add(place: Index, piece: Piece, covered: int) -> None:
        value = _add(isa, get_lanes(acc, LANES), source, place, piece, covered)
        set_lanes(acc, value, LANES)

    with T.serial(spec.kernel_height) as ky, T.serial(spec.runs_per_row) as kx:
        run = origin + spec.run_start(ky, kx)
        if whole:
            with T.serial(whole) as number:
                add(run + number * REGISTER_BYTES, Piece(0, REGISTER_BYTES), 0)
        covered = whole * REGISTER_BYTES
        for piece in cut[whole:]:
            add(run + piece.offset, piece, covered - piece.offset)
            covered = piece.offset + piece.size
    return reduced("add", get_lanes(acc, LANES))


def _add(
    isa: Isa, total: Vector, source: Buffer, place: Index, piece: Piece, covered: int
) -> Vector:
    """Add the bytes of a piece, except for the first ones, which an earlier piece had."""
    value = source[T.ramp(place, 1, piece.size)]
    if covered:
        kept = np.where(np.arange(piece.size) < covered, 0, -1)
        mask = T.Shuffle([T.int8(int(bits)) for bits in kept], list(range(piece.size)))
        value = T.bitwise_and(value, mask)
    if piece.size < REGISTER_BYTES:
        zero = T.broadcast(T.int8(0), piece.size)
        parts = [value] + [zero] * (REGISTER_BYTES // piece.size - 1)
        value = T.Shuffle(parts, list(range(REGISTER_BYTES)))
    if isinstance(isa, (DotProducts, MatrixProducts)):
        ones = T.broadcast(T.int8(1), REGISTER_BYTES)
        name = "llvm.aarch64.neon.sdot.v4i32.v16i8"
        return T.call_llvm_pure_intrin("int32x4", name, total, value, ones)
    halves = [T.Cast("int16x8", T.Shuffle([value], list(range(i, i + 8)))) for i in (0, 8)]
    return isa.neon.add_pairs(total, halves[0] + halves[1])
