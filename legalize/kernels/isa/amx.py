"""Instructions on AMX's tiles: registers of 16 rows of 64 bytes, which multiply whole matrices.

A thread has eight tiles after it has loaded a configuration, which has each tile's rows and the
bytes of a row. A process may use tiles after it has asked Linux once.
"""

import numpy as np
import numpy.typing as npt
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Expr, Index

ROWS = 16
ROW_BYTES = 64
PRODUCT = "tdpb"
"""The beginning of the names of the instructions that multiply tiles of bytes."""

# System call arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of Linux on x86-64.
_ARCH_PRCTL = 158
_REQUEST_PERMISSION = 0x1023
_TILE_DATA = 18
_ASK = "qnn_ask_for_tiles"
# All functions of a library have the same variable: only the first one that runs asks.
_ASK_CODE = f"""
@{_ASK}_done = linkonce_odr hidden global i8 0
declare i64 @syscall(i64, ...)
define linkonce_odr hidden void @{_ASK}() {{
  %done = load atomic i8, ptr @{_ASK}_done monotonic, align 1
  %is_done = icmp ne i8 %done, 0
  br i1 %is_done, label %end, label %ask
ask:
  call i64 (i64, ...) @syscall(i64 {_ARCH_PRCTL}, i64 {_REQUEST_PERMISSION}, i64 {_TILE_DATA})
  store atomic i8 1, ptr @{_ASK}_done monotonic, align 1
  br label %end
end:
  ret void
}}
"""
CONFIGURATION_BYTES = 64
_PALETTE = 1
# The configuration's offsets of the bytes of rows, and of the numbers of rows.
_BYTES_AT, ROWS_AT = 16, 48


def configuration(tiles: list[tuple[int, int]]) -> npt.NDArray[np.uint8]:
    """Return the configuration for tiles of these (rows, bytes of a row), in tile order."""
    memory = np.zeros(CONFIGURATION_BYTES, np.uint8)
    memory[0] = _PALETTE
    widths = memory[_BYTES_AT:ROWS_AT].view(np.uint16)
    for number, (rows, width) in enumerate(tiles):
        memory[ROWS_AT + number], widths[number] = rows, width
    return memory


def request_permission() -> None:
    """Write the call that asks Linux, unless the library has asked already: it takes 70 ns."""
    with T.attr(T.int32(0), "pragma_import_llvm", _ASK_CODE):
        T.evaluate(T.call_extern("void", _ASK))


def configure(memory: Buffer) -> None:
    """Write the instruction that loads a configuration and zeroes the tiles."""
    _instruction("ldtilecfg", T.address_of(memory[0]))


def configure_as(tiles: list[tuple[int, int]], memory: Buffer) -> None:
    """Write a configuration for these tiles to the beginning of a buffer of int32, and load it."""
    for number, word in enumerate(configuration(tiles).view(np.int32)):
        T.buffer_store(memory, T.int32(int(word)), [number])
    configure(memory)


def release() -> None:
    """Write the instruction that releases the tiles: threads without them are switched faster."""
    _instruction("tilerelease")


def clear(tile: int) -> None:
    """Write the instruction that zeroes a tile."""
    _instruction("tilezero", T.int8(tile))


def load(tile: int, buffer: Buffer, offset: Index, pitch: Index, *, passes: bool = False) -> None:
    """Write the instruction that loads a tile: rows ``pitch`` bytes apart, starting at an offset.

    With ``passes`` the data stays in the second-level cache.
    """
    name = "tileloaddt164" if passes else "tileloadd64"
    _instruction(name, T.int8(tile), T.address_of(buffer[offset]), T.int64(pitch))


def store(tile: int, buffer: Buffer, offset: Index, pitch: int) -> None:
    """Write the instruction that stores a tile, with the arguments of ``load``."""
    _instruction("tilestored64", T.int8(tile), T.address_of(buffer[offset]), T.int64(pitch))


def multiply_add(total: int, data: int, weights: int, signs: str = "us") -> None:
    """Write tdpbusd or a variant: add to each int32 of a tile Σ data[row] · weights[column].

    Args:
        total: the tile of sums: a row for each row of data, 16 columns.
        data: a tile of bytes.
        weights: a tile of bytes: four bytes of the sum in a row, for each of 16 columns.
        signs: "u" or "s" for data, then for weights: uint8 or int8.
    """
    _instruction(f"{PRODUCT}{signs}d", T.int8(total), T.int8(data), T.int8(weights))


def _instruction(name: str, *operands: Expr) -> None:
    T.evaluate(T.call_llvm_intrin("void", f"llvm.x86.{name}", *operands))
