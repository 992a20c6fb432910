"""The common part of passes over TIR functions. A fused function is a list of TIR blocks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import s_tir, tirx

from legalize.kernels.kernel import IS_KERNEL


class _Schedule(s_tir.Schedule):
    """A schedule whose methods do not check the types of their arguments.

    TVM does that in Python, which takes longer than most of these methods.
    """

    compute_inline = inspect.unwrap(s_tir.Schedule.compute_inline)
    get = inspect.unwrap(s_tir.Schedule.get)
    get_child_blocks = inspect.unwrap(s_tir.Schedule.get_child_blocks)
    get_consumers = inspect.unwrap(s_tir.Schedule.get_consumers)
    get_loops = inspect.unwrap(s_tir.Schedule.get_loops)


def tir_block_pass(change: Callable[[s_tir.Schedule, Any], None], name: str) -> tvm.transform.Pass:
    """Return a pass that calls ``change(schedule, block)`` for each block of each TIR function.

    Kernels stay unchanged. So does a block whose form the schedule refuses to change (a scan, a
    call into the runtime).
    """

    def rewrite(
        function: tirx.PrimFunc, _mod: tvm.IRModule, _context: tvm.transform.PassContext
    ) -> tirx.PrimFunc:
        if not isinstance(function.body, s_tir.SBlockRealize) or IS_KERNEL in function.attrs:
            return function
        schedule = _Schedule(function, debug_mask=0, error_render_level="none")
        for block in blocks_of(schedule, function):
            try:
                change(schedule, block)
            except s_tir.ScheduleError:
                continue
        return schedule.mod["main"]

    return tirx.transform.prim_func_pass(rewrite, opt_level=0, name=name)


def blocks_of(schedule: s_tir.Schedule, function: tirx.PrimFunc) -> Sequence[Any]:
    """Return the blocks within a function's outermost one, whose name varies in TVM."""
    outermost = schedule.get_sblock(function.body.block.name_hint)
    return schedule.get_child_blocks(outermost)


def is_elementwise(tir_block: Any) -> bool:
    """Tell whether each of the block's instances computes its own element."""
    return (
        tir_block.init is None
        and isinstance(tir_block.body, tirx.BufferStore)
        and all(axis.iter_type == tirx.IterVar.DataPar for axis in tir_block.iter_vars)
    )


def is_one(extent: Any) -> bool:
    """Tell whether an axis of this extent has one element only."""
    return isinstance(extent, tirx.IntImm) and extent.value == 1
