"""The instructions that kernels for microcontrollers use."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Index, instruction, kept

WORD = 4
"""The bytes in a register."""

CORES = ("mclass",)
"""LLVM's features of all Cortex-M."""

PAIRS = ("mclass", "dsp")
"""LLVM's features of the Cortex-M that multiply two pairs of 16 bits at a time."""

PLAIN_C = ("c99",)
"""The key of targets whose code is C, which ``has_feature`` takes, too."""

RISCV32 = ("32bit",)
"""LLVM's features of RISC-V of 32 bits."""

_IN_A_TURN = (4, 2, 1)  # steps in an iteration: the first that fits is taken

TWO_WORDS = "tvm_qnn_two_words"
"""A function that returns the two registers at an address as one int64."""

NUMBER = "tvm_qnn_number"
"""A function that returns its int32 argument above 0, so that TVM does not compute with it."""

# TVM does not run LLVM's pass that merges two loads. A volatile load of an int64 is one
# instruction.
WORDS_CODE = f"""
define i64 @{TWO_WORDS}(ptr %place) {{
  %words = load volatile i64, ptr %place, align 4
  ret i64 %words
}}
declare void @llvm.assume(i1)
define i32 @{NUMBER}(i32 %value) {{
  %is_one = icmp sgt i32 %value, 0
  call void @llvm.assume(i1 %is_one)
  ret i32 %value
}}
"""
"""The LLVM of the functions that ``words_of`` and ``number`` call."""


@contextmanager
def importing(*codes: str) -> Iterator[None]:
    """Open the part of a function that may call the functions of some LLVM texts."""
    with ExitStack() as stack:
        for code in codes:
            stack.enter_context(T.attr("default", "pragma_import_llvm", code))
        yield


def number(value: int) -> Index:
    """Hide a number above 0, so that the function's code does not depend on it.

    So layers of all sizes share one function in C files. With the plain number, a loop of one
    iteration would vanish, and other code might become simpler, too.
    """
    return T.call_pure_extern("int32", NUMBER, T.int32(value))


def words_of(buffer: Buffer, start: Index, count: int) -> list[Index]:
    """Read neighbouring registers, two by an instruction.

    Args:
        buffer: int8 or int32.
        start: an offset in it that is aligned to a register.
        count: the number of registers.
    """
    step = 1 if str(buffer.dtype) == "int32" else WORD
    words = []
    for first in range(0, count - 1, 2):
        place = T.address_of(buffer[start + first * step])
        both = kept(T.call_extern("int64", TWO_WORDS, place))
        words.append(kept(T.Cast("int32", both)))
        words.append(kept(T.Cast("int32", T.shift_right(both, T.int64(32)))))
    if count % 2:
        last = start + (count - 1) * step
        words.append(kept(buffer[last]) if step == 1 else word_of(buffer, last))
    return words


def word_of(buffer: Buffer, start: Index) -> Index:
    """Read four bytes as a register."""
    return kept(T.reinterpret("int32", buffer[T.ramp(start, 1, WORD)]))


def half_of(word: Index, half: int, dtype: str = "int8") -> Index:
    """Return bytes 0 and 2 of a register, or bytes 1 and 3, each widened to 16 bits."""
    name = "llvm.arm.sxtb16" if dtype == "int8" else "llvm.arm.uxtb16"
    if half:
        word = instruction("int32", "llvm.fshr.i32", word, word, T.int32(8))
    return kept(instruction("int32", name, word))


def add_bytes(total: Index, word: Index, half: int, dtype: str = "int8") -> Index:
    """Add bytes 0 and 2 of a register, or bytes 1 and 3, to a pair of 16 bits."""
    name = "llvm.arm.sxtab16" if dtype == "int8" else "llvm.arm.uxtab16"
    if half:
        word = instruction("int32", "llvm.fshr.i32", word, word, T.int32(8))
    return instruction("int32", name, total, word)


def unpacked(word: Index, dtype: str) -> list[Index]:
    """Return both halves of a register: see ``half_of``."""
    return [half_of(word, half, dtype) for half in range(2)]


def in_turns(count: int, write: Callable[[Index], None], most: int = 4) -> None:
    """Write a loop over numbers up to a count, several in an iteration: C files keep loops as is.

    Args:
        count: the number of steps; the steps of an iteration divide it.
        write: writes a step.
        most: the most steps of an iteration.
    """
    each = next(n for n in _IN_A_TURN if n <= most and count % n == 0)
    with T.serial(count // each) as turn:
        for n in range(each):
            write(turn * each + n)


def copy_bytes(source: Buffer, start: Index, target: Buffer, to: Index, count: int) -> None:
    """Copy unaligned bytes, a register at a time."""

    def copy(offset: Index, size: int) -> None:
        if size == 1:
            T.buffer_store(target, source[start + offset], [to + offset])
            return
        T.buffer_store(
            target, source[T.ramp(start + offset, 1, size)], [T.ramp(to + offset, 1, size)]
        )

    in_turns(count // WORD, lambda i: copy(i * WORD, WORD))
    for offset in range(count // WORD * WORD, count):
        copy(offset, 1)


def add_products(lhs: Index, rhs: Index, total: Index) -> Index:
    """Add the products of both pairs of 16 bits to a sum."""
    return instruction("int32", "llvm.arm.smlad", lhs, rhs, total)


def add_product(lhs: Index, rhs: Index, total: Index, *, top: bool) -> Index:
    """Add the product of the lower or of the upper 16 bits to a sum."""
    name = "llvm.arm.smlatt" if top else "llvm.arm.smlabb"
    return instruction("int32", name, lhs, rhs, total)
