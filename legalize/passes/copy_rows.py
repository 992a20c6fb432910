"""Copy short rows of memory as vectors."""

from math import prod
from typing import Any

import tvm
from tvm import s_tir, sym, tirx
from tvm.ir.expr import TensorLoad

from legalize.passes.tir_blocks import is_elementwise, is_one, tir_block_pass

_LONGEST = 64
"""The most iterations of an innermost loop that LLVM unrolls, and elements of a vector."""
_SHORTEST = 4
_SHORTEST_PIECE = 16


def CopyRows() -> tvm.transform.Pass:
    """Turn the innermost loops of blocks that copy rows into vectors.

    LLVM unrolls a short loop, and then moves one element at a time, as each store might alias the
    next load. In a block that computes anything it vectorizes another loop. Long rows whose offsets
    come from a table, as in a resize, become pieces of one length: LLVM would read the table again
    for each element.
    """
    return tir_block_pass(_vectorize, "CopyRows", _copies)


def _vectorize(schedule: s_tir.Schedule, block: Any) -> None:
    tir_block, loops = schedule.get(block), schedule.get_loops(block)
    if not loops or not _copies(tir_block):
        return
    extent = schedule.get(loops[-1]).extent
    if not isinstance(extent, tirx.IntImm) or len(loops) != len(tir_block.iter_vars):
        return
    piece = _piece(extent.value, looks_up=len(tir_block.reads) > 1)
    if piece is None or not _runs_along_memory(tir_block):
        return
    *_, row = schedule.split(loops[-1], [None, piece]) if piece < extent.value else loops
    schedule.vectorize(row)


def _piece(extent: int, *, looks_up: bool) -> int | None:
    """Return how many elements of a row make a vector; None if LLVM needs no help."""
    if extent <= _LONGEST:
        return extent if extent >= _SHORTEST else None
    pieces = range(_LONGEST, _SHORTEST_PIECE - 1, -1) if looks_up else ()
    return next((piece for piece in pieces if extent % piece == 0), None)


def _copies(tir_block: Any) -> bool:
    if not is_elementwise(tir_block):
        return False
    store = tir_block.body
    return isinstance(store.value, TensorLoad) and store.buffer.dtype != "bool"


def _runs_along_memory(tir_block: Any) -> bool:
    """Tell whether neighbours along the last axis are neighbours in source and target memory."""
    last = tir_block.iter_vars[-1]
    copied = tir_block.body.value.source
    analyzer = sym.Analyzer()
    for axis in tir_block.iter_vars:
        analyzer.bind(axis.var, axis.dom)

    def step(access: Any) -> Any:
        shape = access.source.shape
        places = [part.min * prod(shape[i + 1 :]) for i, part in enumerate(access.region)]
        address = analyzer.simplify(sum(places, start=last.var * 0))
        steps = sym.detect_linear_equation(address, [last.var])
        are_single = all(is_one(part.extent) for part in access.region)
        return steps[0] if steps and are_single else None

    def is_plain(access: Any) -> bool:
        found = step(access)
        if access.source.same_as(copied) or access in tir_block.writes:
            return found is not None and is_one(found)
        # This is a table of offsets, one for each row.
        return isinstance(found, tirx.IntImm) and found.value == 0

    return all(map(is_plain, [*tir_block.reads, *tir_block.writes]))
