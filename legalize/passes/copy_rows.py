"""Copy short rows of memory as vectors."""

from __future__ import annotations

from math import prod
from typing import Any

import tvm
from tvm import s_tir, sym, tirx
from tvm.ir.expr import TensorLoad

from legalize.passes.tir_blocks import is_elementwise, is_one, tir_block_pass

_LONGEST = 64
"""Turns of an innermost loop that LLVM unrolls."""
_SHORTEST = 4


def CopyRows() -> tvm.transform.Pass:
    """Turn the innermost loops of blocks that copy short rows into vectors.

    LLVM unrolls such a loop, and then moves one element at a time, as what it writes might be what
    it reads next. Of a block that computes anything it makes vectors of another loop.
    """
    return tir_block_pass(_vectorize, "CopyRows")


def _vectorize(schedule: s_tir.Schedule, block: Any) -> None:
    tir_block, loops = schedule.get(block), schedule.get_loops(block)
    if not loops or not is_elementwise(tir_block) or not _copies(tir_block.body):
        return
    extent = schedule.get(loops[-1]).extent
    is_short = isinstance(extent, tirx.IntImm) and _SHORTEST <= extent.value <= _LONGEST
    if is_short and len(loops) == len(tir_block.iter_vars) and _runs_along_memory(tir_block):
        schedule.vectorize(loops[-1])


def _copies(store: tirx.BufferStore) -> bool:
    return isinstance(store.value, TensorLoad) and store.buffer.dtype != "bool"


def _runs_along_memory(tir_block: Any) -> bool:
    """Tell whether neighbours along the last axis are neighbours where they come from and go."""
    last = tir_block.iter_vars[-1]
    analyzer = sym.Analyzer()
    for axis in tir_block.iter_vars:
        analyzer.bind(axis.var, axis.dom)

    def is_plain(access: Any) -> bool:
        shape = access.source.shape
        places = [part.min * prod(shape[i + 1 :]) for i, part in enumerate(access.region)]
        address = analyzer.simplify(sum(places, start=last.var * 0))
        steps = sym.detect_linear_equation(address, [last.var])
        are_neighbours = bool(steps) and is_one(steps[0])
        return are_neighbours and all(is_one(part.extent) for part in access.region)

    return all(map(is_plain, [*tir_block.reads, *tir_block.writes]))
