"""Merge short innermost loops that run along memory."""

from math import prod
from typing import Any

import tvm
from tvm import s_tir, sym, tirx
from tvm_ffi import structural_walk

from legalize.passes.tir_blocks import is_elementwise, is_one, tir_block_pass

_LONGEST = 64
"""The most iterations of an innermost loop that LLVM unrolls, to vectorize the loop around it."""

_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)


def MergeLoops() -> tvm.transform.Pass:
    """Merge the two innermost loops of elementwise blocks, in every TIR function.

    If a row is cut into lanes, the innermost loop has few iterations. LLVM unrolls it, and gathers
    and scatters elements to vectorize the loop around it. The pass merges loops that together run
    along memory, or stand still, in all tensors that the block reads and writes.
    """
    return tir_block_pass(_merge, "MergeLoops", _has_short_rows)


def _merge(schedule: s_tir.Schedule, block: Any) -> None:
    tir_block, loops = schedule.get(block), schedule.get_loops(block)
    if not _has_short_rows(tir_block) or len(loops) != len(tir_block.iter_vars):
        return
    if _runs_along_memory(tir_block):
        schedule.fuse(*loops[-2:])


def _has_short_rows(tir_block: Any) -> bool:
    extents = [axis.dom.extent for axis in tir_block.iter_vars[-2:]]
    return (
        is_elementwise(tir_block)
        and len(extents) == 2
        and all(isinstance(extent, tirx.IntImm) and extent.value > 1 for extent in extents)
        and extents[1].value <= _LONGEST
    )


def _runs_along_memory(tir_block: Any) -> bool:
    """Tell whether each iteration of the outer loop continues where the inner loop ends."""
    first, second = tir_block.iter_vars[-2:]
    analyzer = sym.Analyzer()
    for axis in tir_block.iter_vars:
        analyzer.bind(axis.var, axis.dom)
    inner = second.dom.extent.value

    def is_plain(access: Any) -> bool:
        if not all(is_one(part.extent) for part in access.region):
            return False
        shape = access.source.shape
        places = [part.min * prod(shape[i + 1 :]) for i, part in enumerate(access.region)]
        address = analyzer.simplify(sum(places, start=first.var * 0))
        steps = sym.detect_linear_equation(address, [first.var, second.var])[:2]
        known = [step.value for step in steps if isinstance(step, tirx.IntImm)]
        return len(known) == 2 and known[0] == known[1] * inner

    accesses = [*tir_block.reads, *tir_block.writes]
    return all(map(is_plain, accesses)) and not _is_compared(tir_block, {first.var, second.var})


def _is_compared(tir_block: Any, variables: set[Any]) -> bool:
    """Tell whether a block's value depends on its index, as in a padding."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, _COMPARISONS):
            found.extend(tirx.analysis.undefined_vars(node))

    structural_walk(tir_block.body, visit)
    return not variables.isdisjoint(found)
