"""The largest value of a row of bytes."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.types import Buffer, Index, Vector
from legalize.kernels.isa.base import VectorIsa


def largest_of(isa: VectorIsa, source: Buffer, start: Index, columns: int) -> Vector:
    """Write the loop over a row that finds its largest value."""
    dtype = str(source.dtype)
    lanes = isa.size if columns >= isa.size else 1
    largest = T.alloc_buffer((lanes,), dtype, scope="global")
    everything = ramp(0, lanes)
    T.buffer_store(largest, source[ramp(start, lanes)], [everything])

    def compare(i: Index, width: int) -> None:
        value = T.max(largest[everything], source[ramp(start + i, width)])
        T.buffer_store(largest, value, [everything])

    if lanes == 1:
        with T.serial(columns) as i:
            compare(i, 1)
        return largest[0]
    for_each_piece(columns, compare, lanes)
    name = "smax" if dtype == "int8" else "umax"
    name = f"llvm.vector.reduce.{name}.v{lanes}i8"
    return T.call_llvm_pure_intrin(dtype, name, largest[everything])
