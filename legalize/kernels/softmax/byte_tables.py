"""Tables of words as tables of bytes, which registers hold."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.types import Buffer
from legalize.kernels.ir.vectors import splat
from legalize.kernels.isa.base import VectorIsa


def byte_tables(isa: VectorIsa, words: Buffer, count: int) -> list[Buffer]:
    """Write what makes a table of each of the lowest ``count`` bytes of a table of int32."""
    size, (length,) = isa.size, (int(each) for each in words.shape)
    tables = [T.alloc_buffer((length,), "uint8", scope="global") for _ in range(count)]
    with T.serial(length // size) as part:
        index = ramp(part * size, size)
        for place, table in enumerate(tables):
            byte = T.shift_right(words[index], splat("int32", 8 * place, size))
            T.buffer_store(table, T.Cast(f"uint8x{size}", byte), [index])
    return tables
