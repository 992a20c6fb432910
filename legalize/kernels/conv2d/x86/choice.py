"""Which kernel computes a convolution."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.plan import TilePlan, choose_plan
from legalize.kernels.conv2d.x86.products import choose_products
from legalize.kernels.conv2d.x86.tiling import units
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan, choose_winograd
from legalize.kernels.isa.x86 import Isa

Array = npt.NDArray[Any]


def choose_kernel(
    spec: ConvSpec, isa: Isa, kernel_ohwi: Array, kernel_zero_point: Array
) -> tuple[ConvSpec, Isa, TilePlan | WinogradPlan | None]:
    """Choose how a convolution is computed, by the instruction set, its shape and its weights.

    Args:
        spec: The convolution.
        isa: The instruction set.
        kernel_ohwi: As ``pack_conv2d`` takes it.
        kernel_zero_point: Likewise.

    Returns:
        The convolution with the dtype of its staged data, the instruction set with its products,
        and the plan of AMX's tiles or of Winograd's transform, if there is one; as
        ``pack_conv2d`` and ``conv2d_of`` take them.
    """
    if isa.has_byte_products:
        return spec, isa, choose_plan(spec) if isa.has_tiles else None
    words = isa.of_words()
    # Nothing but the transform has fewer units than pairs.
    most = units(spec, isa.of_pairs())
    plan = choose_winograd(spec, words, kernel_ohwi, kernel_zero_point, most)
    if plan is not None:
        return spec, words, plan
    return *choose_products(spec, isa, kernel_ohwi, kernel_zero_point), None
