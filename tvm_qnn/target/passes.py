"""Passes of TVM's pipeline to machine code that functions do without."""

from __future__ import annotations

from typing import Any

from tvm import s_tir, tirx
from tvm.ir.expr import TensorLoad
from tvm_ffi import structural_walk

from legalize.kernels.kernel import IS_KERNEL

# They lower threads, memory and instructions of GPUs, of which there are none here, and walk over
# every function all the same.
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

# LLVM does by itself what these do, in less time: it moves conditions out of loops, computes equal
# expressions once, and drops what has no effect.
_OF_LLVM = (
    "s_tir.HoistIfThenElse",
    "tirx.CommonSubexprElim",
    "tirx.RemoveNoOp",
    "s_tir.RenormalizeSplitPattern",
    "s_tir.StmtSimplify",  # tirx.StmtSimplify comes when loops are unrolled and vectorized
)

# These place, shrink and merge the buffers of blocks.
_OF_BUFFERS = (
    "s_tir.PlanAndUpdateBufferAllocationLocation",
    "s_tir.CompactBufferAllocation",
    "s_tir.LoopPartition",
)

# These turn several indices into one, and simplify what that leaves.
_OF_INDICES = ("tirx.FlattenBuffer", "tirx.StmtSimplify")

_NARROW = "tirx.NarrowDataType"
"""Makes indices 32 bits wide."""


ALWAYS_LEFT_OUT = (*_OF_GPUS, *_OF_LLVM)
"""The names to disable in a ``tvm.transform.PassContext``, whatever the functions."""


def left_out(*functions: tirx.PrimFunc) -> tuple[str, ...]:
    """Return the names to disable for some functions, beside those of ``ALWAYS_LEFT_OUT``.

    A kernel's blocks have no buffers, since what it allocates stands where it is used; its tensors
    have one index everywhere, and its loops count in 32 bits. The passes for these walk over every
    statement of it in vain.
    """
    has_buffers = has_wide_loops = False
    is_flat = all(IS_KERNEL in function.attrs for function in functions)

    def see_block(node: Any) -> None:
        nonlocal has_buffers
        has_buffers |= bool(node.alloc_buffers or node.match_buffers or node.init)

    def see_loop(node: Any) -> None:
        nonlocal has_wide_loops
        has_wide_loops |= str(node.extent.ty.dtype) != "int32"

    def see_access(node: Any) -> None:
        nonlocal is_flat
        is_flat = is_flat and len(node.indices) == 1

    seen = [
        (s_tir.SBlock, see_block),
        (tirx.For, see_loop),
        (TensorLoad, see_access),
        (tirx.BufferStore, see_access),
    ]
    for function in functions:
        structural_walk(function.body, seen)
    return (
        *(() if has_buffers else _OF_BUFFERS),
        *(_OF_INDICES if is_flat else ()),
        *(() if has_wide_loops else (_NARROW,)),
    )
