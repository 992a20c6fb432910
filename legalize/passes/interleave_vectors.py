"""Compute functions of floats for several vectors at a time."""

from math import prod
from typing import Any

import tvm
from tvm import s_tir, sym, tirx
from tvm_ffi import structural_map, structural_walk

from legalize.kernels.isa.vectors import vectors_for
from legalize.loop_functions import nodes_in
from legalize.passes.tir_blocks import is_elementwise, is_one, tir_block_pass

_MOST_VECTORS = 8
"""The vectors at a time. Fewer are slower on Zen 5, also with AVX2, although constants spill."""
_LEAST_STEPS = 5
"""The fewest steps of a polynomial."""
_INSTRUCTION = tvm.ir.Op.get("tirx.call_llvm_pure_intrin")


def InterleaveVectors(target: tvm.target.Target) -> tvm.transform.Pass:
    """Turn the innermost loops of blocks with polynomials into vectors of several registers.

    Each step of a polynomial waits for the one before, and processors do not look far enough ahead
    to find the next vectors' steps. LLVM emits vectors one after the other. If a TIR vector has
    several registers, it emits each step for all of them.

    Args:
        target: without vectors, nothing changes.
    """
    vectors = vectors_for(target)
    if not vectors:
        return tvm.transform.Sequential([], name="InterleaveVectors")
    lanes = vectors[0].lanes

    def interleave(schedule: s_tir.Schedule, block: Any) -> None:
        loops, tir_block = schedule.get_loops(block), schedule.get(block)
        if not loops or not _has_polynomial(tir_block):
            return
        extent = schedule.get(loops[-1]).extent
        if not isinstance(extent, tirx.IntImm) or not _runs_along_memory(schedule, block):
            return
        sizes = (count * lanes for count in range(_MOST_VECTORS, 1, -1))
        size = next((each for each in sizes if extent.value % each == 0), 0)
        if size:
            _, inner = schedule.split(loops[-1], [None, size])
            schedule.vectorize(inner)

    return tir_block_pass(interleave, "InterleaveVectors", _has_polynomial)


def _has_polynomial(tir_block: Any) -> bool:
    """Tell whether an elementwise block has enough fused multiply-adds.

    They are LLVM intrinsics.
    """
    if not is_elementwise(tir_block):
        return False
    calls = nodes_in(tir_block.body, tvm.ir.Call)
    return sum(bool(call.op.same_as(_INSTRUCTION)) for call in calls) >= _LEAST_STEPS


def _runs_along_memory(schedule: s_tir.Schedule, block: Any) -> bool:
    """Tell whether the innermost loop's stride is 1 or 0 in all tensors that a block uses."""
    tir_block = schedule.get(block)
    loops = [schedule.get(loop) for loop in schedule.get_loops(block)]
    analyzer = sym.Analyzer()
    for loop in loops:
        analyzer.bind(loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
    values: dict[Any, Any] = {}

    def find(realize: Any) -> None:
        if realize.block.same_as(tir_block):
            axes = (axis.var for axis in tir_block.iter_vars)
            values.update(zip(axes, realize.iter_values, strict=True))

    structural_walk(schedule.mod["main"].body, (s_tir.SBlockRealize, find))

    def step(access: Any) -> int | None:
        """Return the stride between iterations; None if it varies."""
        if not all(is_one(part.extent) for part in access.region):
            return None
        shape = access.source.shape
        places = [part.min * prod(shape[i + 1 :]) for i, part in enumerate(access.region)]
        index = sum(places, start=loops[-1].loop_var * 0)
        whole = structural_map(index, (tirx.Var, lambda axis: values.get(axis, axis)))
        found = sym.detect_linear_equation(analyzer.simplify(whole), [loops[-1].loop_var])
        return found[0].value if found and isinstance(found[0], tirx.IntImm) else None

    written = {step(access) for access in tir_block.writes}
    return written == {1} and {step(access) for access in tir_block.reads} <= {0, 1}
