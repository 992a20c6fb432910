"""The instructions that kernels for microcontrollers are made of."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Buffer, Index

WORD = 4
"""Bytes in a register."""

CORES = ("mclass",)
"""What LLVM calls all Cortex-M."""

PAIRS = ("mclass", "dsp")
"""Those that multiply two pairs of 16 bits at a time."""

RISCV32 = ("32bit",)
"""What LLVM calls RISC-V of 32 bits."""


def word_of(buffer: Buffer, start: Index) -> Index:
    """Read four bytes as a register."""
    return kept(T.reinterpret("int32", buffer[T.ramp(start, 1, WORD)]))


def unpacked(word: Index, dtype: str) -> list[Index]:
    """Return bytes 0 and 2 of a register, and bytes 1 and 3, each widened to 16 bits."""
    name = "llvm.arm.sxtb16" if dtype == "int8" else "llvm.arm.uxtb16"
    rotated = T.call_llvm_pure_intrin("int32", "llvm.fshr.i32", word, word, T.int32(8))
    return [kept(T.call_llvm_pure_intrin("int32", name, value)) for value in (word, rotated)]


def low_bytes(word: Index) -> Index:
    """Return bytes 0 and 2 of a register, each widened to 16 bits with its sign."""
    return kept(T.call_llvm_pure_intrin("int32", "llvm.arm.sxtb16", word))


def copy_bytes(source: Buffer, start: Index, target: Buffer, to: Index, count: int) -> None:
    """Copy bytes that are aligned in no way, a register at a time."""

    def copy(offset: Index, size: int) -> None:
        if size == 1:
            T.buffer_store(target, source[start + offset], [to + offset])
            return
        T.buffer_store(
            target, source[T.ramp(start + offset, 1, size)], [T.ramp(to + offset, 1, size)]
        )

    with T.serial(count // WORD) as i:
        copy(i * WORD, WORD)
    for offset in range(count // WORD * WORD, count):
        copy(offset, 1)


def add_products(lhs: Index, rhs: Index, total: Index) -> Index:
    """Add the products of both pairs of 16 bits to a sum."""
    return T.call_llvm_pure_intrin("int32", "llvm.arm.smlad", lhs, rhs, total)


def add_product(lhs: Index, rhs: Index, total: Index, *, top: bool) -> Index:
    """Add the product of the lower or of the upper 16 bits to a sum."""
    name = "llvm.arm.smlatt" if top else "llvm.arm.smlabb"
    return T.call_llvm_pure_intrin("int32", name, lhs, rhs, total)
