"""The order of the passes: from the dialect to Relax and TIR functions."""

from __future__ import annotations

import tvm

from legalize.kernels import KERNELS
from legalize.passes import FoldClamps, FoldPads, LegalizeQnn, PreferUnsigned, UseKernels
from qnn_ops import quantized_dense


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
        # The kernels of every instruction set multiply unsigned by signed bytes.
        if any(kernel.serves(target) for kernel in KERNELS[quantized_dense.op.name]):
            passes.append(PreferUnsigned())
        passes.append(UseKernels(target))
    return tvm.transform.Sequential([*passes, LegalizeQnn()])(mod)
