"""The common part of passes over TIR functions. A fused function is a list of TIR blocks."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import s_tir, tirx

from legalize.kernels.kernel import IS_KERNEL
from legalize.loop_functions import nodes_in


class _Schedule(s_tir.Schedule):
    """A schedule whose methods do not check the types of their arguments.

    TVM does that in Python, which takes longer than most of these methods.
    """

    compute_inline = inspect.unwrap(s_tir.Schedule.compute_inline)
    get = inspect.unwrap(s_tir.Schedule.get)
    get_child_blocks = inspect.unwrap(s_tir.Schedule.get_child_blocks)
    get_consumers = inspect.unwrap(s_tir.Schedule.get_consumers)
    get_loops = inspect.unwrap(s_tir.Schedule.get_loops)


def tir_block_pass(
    change: Callable[[s_tir.Schedule, Any], None],
    name: str,
    may_change: Callable[[Any], bool],
    least: int = 1,
) -> tvm.transform.Pass:
    """Return a pass that calls ``change(schedule, block)`` for each block of each TIR function.

    Kernels stay unchanged. So does a block whose form the schedule refuses to change (a scan, a
    call into the runtime).

    Args:
        change: changes a block.
        name: the pass's name.
        may_change: False for a block that ``change`` leaves as it is. A schedule takes longer than
            most changes, so functions with only such blocks get none.
        least: the fewest blocks of a function that changes.
    """

    def rewrite(
        function: tirx.PrimFunc, _mod: tvm.IRModule, _context: tvm.transform.PassContext
    ) -> tirx.PrimFunc:
        if not isinstance(function.body, s_tir.SBlockRealize) or IS_KERNEL in function.attrs:
            return function
        found = tir_blocks_in(function)
        if len(found) < least or not any(map(may_change, found)):
            return function
        schedule = _Schedule(function, debug_mask=0, error_render_level="none")
        for block in blocks_of(schedule, function):
            try:
                change(schedule, block)
            except s_tir.ScheduleError:
                continue
        return schedule.mod["main"]

    return tirx.transform.prim_func_pass(rewrite, opt_level=0, name=name)


def tir_blocks_in(function: tirx.PrimFunc) -> list[Any]:
    """Return the nodes of all blocks within a function's outermost one."""
    return nodes_in(function.body.block.body, s_tir.SBlock)


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
