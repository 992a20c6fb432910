"""Which kernel a convolution's constants were laid out for."""

from __future__ import annotations

from tvm import tirx

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.kernel import conv2d_tiles
from legalize.kernels.conv2d.x86.kernel import conv2d
from legalize.kernels.conv2d.x86.pack import PackedConv
from legalize.kernels.conv2d.x86.pairs.kernel import conv2d_pairs
from legalize.kernels.conv2d.x86.winograd.kernel import conv2d_winograd
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan
from legalize.kernels.isa.x86 import Isa


def conv2d_of(packed: PackedConv, spec: ConvSpec, isa: Isa) -> tirx.PrimFunc:
    """Build the function that computes a convolution with the constants of ``pack_conv2d``."""
    if isinstance(packed.plan, WinogradPlan):
        return conv2d_winograd(spec, packed.requantization, packed.plan, isa)
    if packed.plan is not None:
        return conv2d_tiles(spec, packed.requantization, packed.plan)
    if packed.steps is not None:
        return conv2d_pairs(spec, packed.requantization, packed.tiling, isa, packed.steps)
    return conv2d(spec, packed.requantization, packed.tiling, isa, packed.weight_dtype)
