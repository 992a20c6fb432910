"""Operators of what a model keeps from one run to the next."""

from __future__ import annotations

from tests.differential.variables import handle
from tests.edges.draw import Draw, drawn


@drawn("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
def keep(draw: Draw) -> None:
    shape, dtype = draw.shape(1, 5), draw.dtype()
    encoding = draw.encoding(dtype)
    shape = tuple(max(size, 1) for size in shape)
    writer, first = draw.writer, draw.data(dtype, shape)
    begin = writer.subgraph()
    writer.operator("CALL_ONCE", [], [], init_subgraph_index=1 if draw.chance(0.95) else 2)
    constant = begin.tensor("first", shape, dtype, encoding, first)
    begin.operator("ASSIGN_VARIABLE", [handle(begin, "v"), constant], [])
    begin.end([], [])
    known = handle(writer, "v")
    if draw.chance(0.7):
        writer.operator("ASSIGN_VARIABLE", [known, draw.input(shape, dtype, encoding)], [])
    draw.code = "READ_VARIABLE"
    draw.operator([known], (dtype, encoding), shape=shape)
