"""The passes of TVM's pipeline that functions do not need."""

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import s_tir, tirx
from tvm.ir.expr import TensorLoad
from tvm.tirx.compilation_pipeline import register_tir_pipeline

from legalize.kernels.isa.targets import has_feature
from legalize.kernels.kernel import HAS_PLAIN_LOOPS, IS_KERNEL, IS_SMALL
from legalize.loop_functions import nodes_in, with_body
from legalize.passes.bodies import TAKES_POINTERS, owns_buffers

# They lower threads, memory and instructions of GPUs. No function here has these, but the passes
# would walk over every function.
_OF_GPUS = (
    "s_tir.LowerCrossThreadReduction",
    "s_tir.LiftThreadBinding",
    "s_tir.ManifestSharedMemoryLocalStage",
    "s_tir.LowerAutoCopy",
    "s_tir.UnifyThreadBinding",
    "s_tir.InjectPermutedLayout",
    "s_tir.TransformMmaBufferLayout",
    "s_tir.InjectSoftwarePipeline",
    "s_tir.InjectVirtualThread",
    "s_tir.InjectDoubleBuffer",
    "s_tir.VerifyVTCMLimit",
    "s_tir.LowerVtcmAlloc",
    "s_tir.ThreadSync",
    "s_tir.InferFragment",
    "s_tir.LowerThreadAllreduce",
    "s_tir.MergeSharedMemoryAllocations",
)

# LLVM does their work itself, in less time: it moves conditions out of loops, computes equal
# expressions once, and drops code without effect.
_OF_LLVM = (
    "s_tir.HoistIfThenElse",
    "tirx.CommonSubexprElim",
    "tirx.RemoveNoOp",
    "s_tir.RenormalizeSplitPattern",
    "s_tir.StmtSimplify",  # tirx.StmtSimplify runs after loops are unrolled and vectorized
)

_COMPACT = "s_tir.CompactBufferAllocation"
"""Shrinks buffers to the elements that are accessed. It takes an address for one element."""

# They place, shrink and merge the buffers of blocks.
_OF_BUFFERS = (
    "s_tir.PlanAndUpdateBufferAllocationLocation",
    _COMPACT,
    "s_tir.LoopPartition",
)

# They turn several indices into one, and simplify the result.
_OF_INDICES = ("tirx.FlattenBuffer", "tirx.StmtSimplify")

# They lower what no kernel has: floats of 8 bits, bfloat16, and blocks that begin sums.
_OF_PRIMITIVES = (
    "tirx.BF16ComputeLegalize",
    "tirx.BF16StorageLegalize",
    "tirx.FP8ComputeLegalize",
    "tirx.FP8StorageLegalize",
    "s_tir.LowerInitBlock",
    "s_tir.LowerMatchBuffer",
    "s_tir.AnnotateIrregularLoop",
)

_MERGE = "tirx.StorageRewrite"
"""Merges local buffers, and moves them out of loops.

LLVM does so for those on the stack. Kernels allocate larger ones once for a call, for the part of a
thread, or for a block of columns.
"""

_NARROW = "tirx.NarrowDataType"
"""Makes indices 32 bits wide."""


ALWAYS_LEFT_OUT = (*_OF_GPUS, *_OF_LLVM)
"""The passes to disable in a ``tvm.transform.PassContext`` for all functions."""


PIPELINE = "qnn"
"""The name of TVM's pipeline with lowering of functions that take pointers."""

_CPU = 1  # DLPack's kDLCPU


_LEVEL = 1
"""LLVM's level for kernels on x86 that are called by name, except those of small networks."""

_LEVEL_OF_CALLS = 0
"""LLVM's level on x86 for the function of a model that only calls others by name."""


def is_final(function: tirx.PrimFunc) -> bool:
    """Tell whether LLVM need not improve a function: a kernel without plain loops."""
    attrs = function.attrs
    return IS_KERNEL in attrs and TAKES_POINTERS in attrs and HAS_PLAIN_LOOPS not in attrs


def leveled(functions: Sequence[tirx.PrimFunc], target: tvm.target.Target) -> tvm.target.Target:
    """Return the target with LLVM's level for a module of functions.

    Kernels are written down to the last register. On x86 they run as fast with level 1 as with 3,
    and compile in 3 to 14 % less time. Those of small networks do not run as fast, and keep the
    usual level. A function that only calls others compiles in a quarter of the time with level 0. A
    target keeps its own level if it has one.
    """
    if "opt-level" in target.attrs or not has_feature(target, "sse2"):
        return target
    are_small = any(IS_SMALL in function.attrs for function in functions)
    if all(map(_only_calls, functions)):
        level = _LEVEL_OF_CALLS
    elif not are_small and all(map(is_final, functions)):
        level = _LEVEL
    else:
        return target
    return tvm.target.Target({**target.export(), "opt-level": level})


def _only_calls(function: tirx.PrimFunc) -> bool:
    """Tell whether a function takes a model's tensors, and has no loop and no store."""
    if TAKES_POINTERS in function.attrs:
        return False
    return not nodes_in(function.body, tirx.For, tirx.BufferStore)


def on_cpu(body: tirx.Stmt) -> tirx.Stmt:
    """Name the device of a function that takes pointers.

    Without a device, TVM treats every buffer as too large for the stack, and allocates no others.
    """
    for key, value in (("device_type", _CPU), ("device_id", 0)):
        body = tirx.AttrStmt("default", key, tirx.IntImm("int32", value), body)
    return body


def _named(function: tirx.PrimFunc, _mod: Any, _context: Any) -> tirx.PrimFunc:
    is_named = TAKES_POINTERS in function.attrs
    return with_body(function, on_cpu(function.body)) if is_named else function


def _pipeline() -> tuple[Any, ...]:
    lower, *finalize = tirx.get_tir_pipeline("s_tir")
    name = tirx.transform.prim_func_pass(_named, opt_level=0, name="NameDevice")
    return tvm.transform.Sequential([lower, name]), *finalize


register_tir_pipeline(PIPELINE, _pipeline)


def left_out(*functions: tirx.PrimFunc) -> tuple[str, ...]:
    """Return the passes to disable for some functions, in addition to ``ALWAYS_LEFT_OUT``.

    A kernel's blocks have no buffers: they are allocated where they are used. Its tensors have a
    single index, and its loops count in 32 bits. Passes for other cases would walk over all its
    statements in vain.
    """
    has_wide_loops = False
    is_flat = all(IS_KERNEL in function.attrs for function in functions)
    buffers = []
    for function in functions:
        # A final kernel is flat. The walk calls Python for each access.
        accesses = () if is_final(function) else (TensorLoad, tirx.BufferStore)
        nodes = nodes_in(function.body, tirx.For, s_tir.SBlock, *accesses)
        loops = [each for each in nodes if isinstance(each, tirx.For)]
        blocks = [each for each in nodes if isinstance(each, s_tir.SBlock)]
        has_wide_loops |= any(str(loop.extent.ty.dtype) != "int32" for loop in loops)
        is_flat &= all(len(each.indices) == 1 for each in nodes if isinstance(each, accesses))
        buffers.append(any(map(owns_buffers, blocks)))
    # A function of open sizes allocates memory, and passes on addresses in it.
    some = (_COMPACT,) if any(buffers) else _OF_BUFFERS
    return (
        *(() if all(buffers) else some),
        *((_MERGE, *_OF_PRIMITIVES) if all(map(is_final, functions)) else ()),
        *(_OF_INDICES if is_flat else ()),
        *(() if has_wide_loops else (_NARROW,)),
    )
