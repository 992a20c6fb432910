"""Table lookups by AVX512-VBMI: 64 bytes from a table of 256 that stays in four registers."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.rows import BYTES, splat

_PARTS = 4


def table_vectors(table: Any) -> list[Any]:
    """The registers of a table, uint8 [256] by the bits of the value looked up."""
    return [table[T.ramp(BYTES * part, 1, BYTES)] for part in range(_PARTS)]


def look_up(table: list[Any], index: Any, width: int) -> Any:
    """Look up each byte of uint8x(width).

    Vpermb takes the lower six bits of an index; the upper two choose among its four results.
    """
    if width == 1:
        index = T.broadcast(index, BYTES)
    elif width < BYTES:
        index = T.Shuffle([index] * (BYTES // width), list(range(BYTES)))
    found = [
        T.call_llvm_pure_intrin(f"uint8x{BYTES}", "llvm.x86.avx512.permvar.qi.512", part, index)
        for part in table
    ]
    halves = [_choose(index, 64, *found[:2]), _choose(index, 64, *found[2:])]
    result = _choose(index, 128, *halves)
    return result if width == BYTES else T.Shuffle([result], list(range(width)))


def _choose(index: Any, bit: int, if_clear: Any, if_set: Any) -> Any:
    is_set = T.bitwise_and(index, splat(bit, BYTES)) != splat(0, BYTES)
    return T.Select(is_set, if_set, if_clear)
