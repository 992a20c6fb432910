"""The order of the passes: from the dialect to Relax and TIR functions."""

from __future__ import annotations

import tvm

from legalize.passes import FoldClamps, FoldPads, LegalizeQnn, UseKernels


def lower(mod: tvm.IRModule, target: tvm.target.Target, *, kernels: bool = True) -> tvm.IRModule:
    """Lower every operator of the dialect for ``target``.

    Args:
        mod: main's weights must be constants for kernels to be used.
        target: what its instruction set offers decides which kernels serve.
        kernels: whether to use hand-written kernels at all.

    Returns:
        A module of Relax operators and TIR functions only.
    """
    passes = [FoldPads(), FoldClamps()]
    if kernels:
        passes.append(UseKernels(target))
    return tvm.transform.Sequential([*passes, LegalizeQnn()])(mod)
