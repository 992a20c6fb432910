"""Passes of TVM's pipeline to machine code that code for processors does without."""

from __future__ import annotations

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

# LLVM moves conditions out of loops by itself. TVM simplifies each function once more to do so, and
# takes longer for it than for any other pass.
_OF_LLVM = ("s_tir.HoistIfThenElse",)

LEFT_OUT = (*_OF_GPUS, *_OF_LLVM)
"""The names to disable in a ``tvm.transform.PassContext``."""
