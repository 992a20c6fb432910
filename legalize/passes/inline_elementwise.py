"""Turn each fused chain of elementwise steps into one loop."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import s_tir, tirx

from legalize.kernels.registry import IS_KERNEL

# TVM's simplifier takes minutes for expressions of ten times this size.
_LARGEST_TEXT = 4000


def InlineElementwise() -> tvm.transform.Pass:
    """Inline, in every TIR function, the elementwise steps that only elementwise steps read.

    TVM's fusion puts the steps of a chain into one function but leaves each its own loop over a
    buffer of its own: the many steps of a requantization then run at the speed of memory.

    Some steps keep their buffer:

    * what a reduction reads (a convolution's centred data), as it is read many times;
    * what is broadcast, for the same reason;
    * what was narrowed to 8 bits: it is the end of an operator's arithmetic, and as a step that
      is read twice is inlined twice, a chain of operators would grow without bound;
    * what has become so large that compiling it would take long.
    """

    def rewrite(
        function: tirx.PrimFunc, _mod: tvm.IRModule, _context: tvm.transform.PassContext
    ) -> tirx.PrimFunc:
        has_steps = isinstance(function.body, s_tir.SBlockRealize)
        return _inline(function) if has_steps and IS_KERNEL not in function.attrs else function

    return tirx.transform.prim_func_pass(rewrite, opt_level=0, name="InlineElementwise")


def _inline(function: tirx.PrimFunc) -> tirx.PrimFunc:
    schedule = s_tir.Schedule(function, debug_mask=0, error_render_level="none")
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        readers = [schedule.get(reader) for reader in schedule.get_consumers(block)]
        if not readers or not _is_worth_inlining(schedule.get(block), readers):
            continue
        try:
            schedule.compute_inline(block)
        except s_tir.ScheduleError:
            # Not of the form that can be inlined (a scan, a call into the runtime): it stays.
            continue
    return schedule.mod["main"]


def _is_worth_inlining(step: Any, readers: list[Any]) -> bool:
    return (
        _is_elementwise(step)
        and not _is_narrowed(step)
        and all(_is_elementwise(reader) and not _broadcasts(reader, step) for reader in readers)
        and len(str(step.body)) <= _LARGEST_TEXT
    )


def _is_elementwise(step: Any) -> bool:
    """Whether each of the block's instances computes an element by itself."""
    return step.init is None and all(
        variable.iter_type == tirx.IterVar.DataPar for variable in step.iter_vars
    )


def _is_narrowed(step: Any) -> bool:
    """Whether what the block stores was computed with more bits than it has."""
    value = step.body.value if isinstance(step.body, tirx.BufferStore) else None
    return isinstance(value, tirx.Cast) and str(value.ty) in ("int8", "uint8")


def _broadcasts(reader: Any, step: Any) -> bool:
    """Whether instances of the reader that differ in an axis read the same element."""
    axes = {axis.var for axis in reader.iter_vars if not _is_one(axis.dom.extent)}
    (written,) = step.writes
    reads = [read for read in reader.reads if read.source.same_as(written.source)]
    return not all(axes <= _variables(read.region) for read in reads)


def _variables(region: Any) -> set[Any]:
    return {variable for part in region for variable in tirx.analysis.undefined_vars(part.min)}


def _is_one(extent: Any) -> bool:
    return isinstance(extent, tirx.IntImm) and extent.value == 1
