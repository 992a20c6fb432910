"""Turn each fused chain of elementwise steps into one loop."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import s_tir, tirx

from legalize.kernels.registry import IS_KERNEL


def InlineElementwise() -> tvm.transform.Pass:
    """Inline, in every TIR function, the elementwise steps that only elementwise steps read.

    TVM's fusion puts the steps of a chain into one function but leaves each its own loop over a
    buffer of its own: the many steps of a requantization then run at the speed of memory. What
    a reduction reads (a convolution's centred data) stays a buffer, as it is read many times.
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
        if not _is_elementwise(schedule.get(block)):
            continue
        consumers = schedule.get_consumers(block)
        if not consumers or not all(_is_elementwise(schedule.get(c)) for c in consumers):
            continue
        try:
            schedule.compute_inline(block)
        except s_tir.ScheduleError:
            # Not of the form that can be inlined (a scan, a call into the runtime): it stays.
            continue
    return schedule.mod["main"]


def _is_elementwise(block: Any) -> bool:
    """Whether each of the block's instances computes an element by itself."""
    return block.init is None and all(
        variable.iter_type == tirx.IterVar.DataPar for variable in block.iter_vars
    )
