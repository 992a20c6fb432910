"""The order of the passes: from the dialect to Relax and TIR functions."""

from __future__ import annotations

from contextlib import nullcontext

import tvm
from tvm import relax

from legalize.kernels.call import Hear, heard
from legalize.kernels.conv2d.x86.network import target_of_kernels
from legalize.kernels.isa.targets import has_feature, target_of
from legalize.loops import lower_loops
from legalize.passes.channels_last import ChannelsLast
from legalize.passes.drop_constant_channels import DropConstantChannels
from legalize.passes.fold_clamps import FoldClamps
from legalize.passes.fold_constants import FoldConstants
from legalize.passes.fold_float_ends import FoldFloatEnds
from legalize.passes.fold_pads import FoldPads
from legalize.passes.fold_qdq import FoldQdq
from legalize.passes.fuse_sums import FuseSums
from legalize.passes.in_strips import Choice, InStrips
from legalize.passes.join_in_place import JoinInPlace
from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.passes.multiply_floats import MultiplyFloats
from legalize.passes.one_function import tell_calls
from legalize.passes.one_item import OneItem
from legalize.passes.pad_in_place import PadInPlace
from legalize.passes.prefer_signedness import PreferSignedness
from legalize.passes.scale_sums import ScaleSums
from legalize.passes.split_words import SplitWords
from legalize.passes.tabulate_bytes import TabulateBytes
from legalize.passes.tabulate_floats import TabulateFloats
from legalize.passes.transpose_bytes import TransposeBytes
from legalize.passes.use_kernels import UseKernels
from legalize.pipeline import is_mcu
from qnn_ops.serial import serial

# By a feature that all kernels of an architecture need, the dtype that they multiply by int8.
_SIGNEDNESS = {"sse4.1": "uint8", "neon": "int8"}


@serial
def lower(
    mod: tvm.IRModule,
    target: tvm.target.Target,
    *,
    kernels: bool = True,
    strips: Choice | None = None,
    hear: Hear | None = None,
) -> tvm.IRModule:
    """Lower every operator of the dialect for ``target``.

    Args:
        mod: main's weights must be constants for kernels to be used.
        target: its instruction set decides which kernels serve.
        kernels: whether to use hand-written kernels.
        strips: chooses the layers that are computed strip by strip; None: no layers.
        hear: called with the name and the function of each kernel that is to be called by name,
            once it is written. Later passes may drop a kernel.

    Returns:
        A module of Relax operators and TIR functions only.
    """
    target = target_of(str(target))
    mod = mod if is_mcu(target) else OneItem()(mod)
    mod = lower_loops(mod, target, lambda other: lower(other, target, kernels=kernels))
    wanted = [dtype for feature, dtype in _SIGNEDNESS.items() if has_feature(target, feature)]
    dead = relax.transform.DeadCodeElimination()
    passes = [dead, FoldQdq(), TabulateFloats(), TabulateBytes(), ChannelsLast()]
    passes += [FoldPads(), FoldClamps(), DropConstantChannels()]
    passes += [] if strips is None else [InStrips(strips)]
    passes.append(SplitWords(*wanted or ["int8"]))
    if kernels:
        passes += [PreferSignedness(dtype) for dtype in wanted]
    mod = tvm.transform.Sequential(passes)(mod)
    passes = [LegalizeQnn(), FoldConstants()]
    if kernels:
        target = target_of_kernels(mod, target)
        mod = mod if is_mcu(target) else tell_calls(mod)
        rules = (PadInPlace, FuseSums, ScaleSums, JoinInPlace, UseKernels)
        moves = (MultiplyFloats, TransposeBytes)
        # Kernels lay out weights that are constants.
        kernels_of = (each(target) for each in (*rules, *moves))
        passes = [FoldConstants(), FoldFloatEnds(), *kernels_of, *passes]
    with heard(hear) if hear is not None else nullcontext():
        return tvm.transform.Sequential(passes)(mod)
