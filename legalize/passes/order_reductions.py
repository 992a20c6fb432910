"""Let the innermost loop of each sum run along memory."""

from typing import Any

import tvm
from tvm import s_tir, sym, tirx

from legalize.passes.tir_blocks import is_one, tir_block_pass


def OrderReductions() -> tvm.transform.Pass:
    """Move the last axis of a reduction's output inside the reduced axes, in every TIR function.

    TVM writes each element's whole sum before the next element. If neighbouring elements of the
    output read neighbours (a mean over pixels, a product with a matrix stored [K, N]), every step
    of the sum jumps in memory, and nothing becomes vector code. Each element is still summed in the
    same order, so floats do not change either.

    If several loops compute one element, they become one loop, and its initial value is set before
    it. On nested loops that gather in memory LLVM 22 may never finish.
    """
    return tir_block_pass(_order, "OrderReductions", _reduces)


def _order(schedule: s_tir.Schedule, block: Any) -> None:
    tir_block, loops = schedule.get(block), schedule.get_loops(block)
    if not _reduces(tir_block) or len(loops) != len(tir_block.iter_vars):
        return
    axes = list(zip(tir_block.iter_vars, loops, strict=True))
    reduced = [loop for axis, loop in axes if axis.iter_type == tirx.IterVar.CommReduce]
    kept = [(axis, loop) for axis, loop in axes if axis.iter_type == tirx.IterVar.DataPar]
    long = [(axis, loop) for axis, loop in kept if not is_one(axis.dom.extent)]
    if not long and len(reduced) > 1:
        schedule.decompose_reduction(block, schedule.fuse(*reduced))
    if not reduced or not long:
        return
    last, loop = long[-1]
    if _runs_along_memory(last, tir_block):
        schedule.reorder(*reduced, loop)
        schedule.decompose_reduction(block, reduced[0])


def _reduces(tir_block: Any) -> bool:
    return tir_block.init is not None


def _runs_along_memory(axis: Any, tir_block: Any) -> bool:
    """Tell whether the axis has stride 1 or 0 in all tensors that the block uses."""
    analyzer = sym.Analyzer()
    for other in tir_block.iter_vars:
        if is_one(other.dom.extent):
            analyzer.bind(other.var, other.dom)

    def is_last(region: Any) -> bool:
        index = [analyzer.simplify(part.min) for part in region]
        while index and isinstance(index[-1], tirx.IntImm):
            index.pop()
        uses = [axis.var in tirx.analysis.undefined_vars(part) for part in index]
        return not any(uses) or (sum(uses) == 1 and index[-1].same_as(axis.var))

    return all(is_last(access.region) for access in [*tir_block.reads, *tir_block.writes])
