"""Copy short rows of memory as vectors."""

from math import gcd, prod
from typing import Any

import tvm
from tvm import s_tir, sym, tirx
from tvm.ir.expr import TensorLoad
from tvm_ffi import structural_walk

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
    pieces = _pieces(tir_block, extent.value)
    piece = next((each for each in pieces if _runs_along_memory(tir_block, each)), None)
    if piece is not None:
        *_, row = schedule.split(loops[-1], [None, piece]) if piece < extent.value else loops
        schedule.vectorize(row)


def _pieces(tir_block: Any, extent: int) -> list[int]:
    """Return how many elements of a row may make a vector; none if LLVM needs no help.

    The places in rows that were cut and moved are quotients and remainders. Within a piece that
    divides all their divisors they run along memory.
    """
    whole = [extent] if _SHORTEST <= extent <= _LONGEST else []
    last, divisors = tir_block.iter_vars[-1].var, [extent]

    def see(node: Any) -> None:
        if isinstance(node.b, tirx.IntImm) and last in tirx.analysis.undefined_vars(node.a):
            divisors.append(node.b.value)

    structural_walk(tir_block.body, [(tirx.FloorDiv, see), (tirx.FloorMod, see)])
    common, looks_up = gcd(*divisors), len(tir_block.reads) > 1
    if common == extent and (whole or not looks_up):
        return whole
    pieces = range(_LONGEST, _SHORTEST_PIECE - 1, -1)
    return whole + [piece for piece in pieces if common % piece == 0][:1]


def _copies(tir_block: Any) -> bool:
    if not is_elementwise(tir_block):
        return False
    store = tir_block.body
    return isinstance(store.value, TensorLoad) and store.buffer.dtype != "bool"


def _runs_along_memory(tir_block: Any, piece: int) -> bool:
    """Tell whether neighbours in a piece of a row are neighbours in source and target memory."""
    last = tir_block.iter_vars[-1]
    copied = tir_block.body.value.source
    analyzer, dtype = sym.Analyzer(), last.var.ty.dtype
    number, lane = tirx.Var("number", dtype), tirx.Var("lane", dtype)
    for axis in tir_block.iter_vars[:-1]:
        analyzer.bind(axis.var, axis.dom)
    analyzer.bind(number, tvm.ir.Range(0, last.dom.extent // piece))
    analyzer.bind(lane, tvm.ir.Range(0, piece))
    analyzer.bind(last.var, number * piece + lane)

    def step(access: Any) -> Any:
        shape = access.source.shape
        places = [part.min * prod(shape[i + 1 :]) for i, part in enumerate(access.region)]
        address = analyzer.simplify(sum(places, start=last.var * 0))
        steps = sym.detect_linear_equation(address, [lane])
        are_single = all(is_one(part.extent) for part in access.region)
        return steps[0] if steps and are_single else None

    def is_plain(access: Any) -> bool:
        found = step(access)
        if access.source.same_as(copied) or access in tir_block.writes:
            return found is not None and is_one(found)
        # This is a table of offsets, one for each row.
        return isinstance(found, tirx.IntImm) and found.value == 0

    return all(map(is_plain, [*tir_block.reads, *tir_block.writes]))
