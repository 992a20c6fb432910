"""The facts on which the code of a function of several convolutions depends."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.kernel import ConvKernel


def common_form(kernel: ConvKernel) -> Hashable:
    """Return the facts that matter to every way; see ``ConvKernel.form``."""
    spec, lanes = kernel.spec, kernel.isa.lanes
    output, fusion, epilogue = spec.output, spec.fusion, kernel.epilogue
    if fusion.residual is None:
        epilogue = replace(epilogue, zero_point_left=int(kernel.zero_point != 0))
    sections = []
    for section in kernel.tiling:
        channels = min(section.nr * lanes, spec.out_channels - section.first_vector * lanes)
        blocks = None if kernel.reads_blocks(section) else section.blocks
        sections.append((section.nr, section.mr, channels, blocks))
    return (
        *(type(kernel), kernel.products, epilogue, kernel.weight_dtype, tuple(sections)),
        *(output.dtype, output.low, output.high, output.rounding, output.has_two_floors),
        *(fusion.residual, fusion.addend, kernel.place.fill_lanes, kernel.place.is_linear),
        *(spec.batch, kernel.zero_point != 0, kernel.tasks > 1),
    )
