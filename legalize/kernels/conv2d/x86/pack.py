"""Constants of a convolution in the layout that the x86 kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from legalize.kernels.conv2d.constants import (
    check_scales,
    deal,
    fold_zero_points,
    per_channel,
    signed_kernel,
)
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Tiling, tiles_of
from legalize.kernels.conv2d.x86.amx.pack import lay_out_chunks, tile_configuration
from legalize.kernels.conv2d.x86.amx.plan import TilePlan
from legalize.kernels.conv2d.x86.epilogue.fixed_point import (
    Requantization,
    choose_requantization,
    double_requantization,
    float_requantization,
    float_stage_requantization,
    requantization_constants,
)
from legalize.kernels.conv2d.x86.epilogue.float32 import float_constants, float_scales
from legalize.kernels.conv2d.x86.epilogue.float64 import double_constants, magic_multiplier
from legalize.kernels.conv2d.x86.epilogue.onednn import float_stage_constants, float_stage_of
from legalize.kernels.conv2d.x86.pairs.pack import list_steps
from legalize.kernels.conv2d.x86.pairs.weights import ListedSteps
from legalize.kernels.conv2d.x86.steps import step_weights
from legalize.kernels.conv2d.x86.tiling import choose_tiling, lane_channels
from legalize.kernels.conv2d.x86.winograd.pack import lay_out_transformed
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan
from legalize.kernels.isa.x86 import AVX512_VNNI, Isa

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PackedConv:
    """A convolution's constants, and what its function must know about them.

    Attributes:
        requantization: How accumulators become outputs.
        tiling: The tiles for which the constants are laid out.
        weight_dtype: Of the weights: what the instruction set multiplies, or less.
        constants: The arrays that the function of ``conv2d`` takes between data and output:
            weights in one row; bias int32 [vectors, lanes]; the other arrays of ``list_steps``; the
            kernel's zero point int32 [1], only if it is asymmetric and the weights are int8;
            the arrays of the requantization; the configuration of AMX's tiles.
        steps: What there is to know of listed steps, where they are used.
        plan: How AMX's tiles are laid, or tiles of Winograd's transform, if they are used.
    """

    requantization: Requantization
    tiling: Tiling
    weight_dtype: str
    constants: tuple[Array, ...]
    steps: ListedSteps | None = None
    plan: TilePlan | WinogradPlan | None = None


def pack_conv2d(
    spec: ConvSpec,
    kernel_ohwi: Array,
    kernel_zero_point: int | Array = 0,
    bias: Array | None = None,
    multiplier: Array | float = 0,
    shift: Array | int = 0,
    isa: Isa = AVX512_VNNI,
    plan: TilePlan | WinogradPlan | None = None,
) -> PackedConv:
    """Fold zero points into the bias and lay out weights, bias and multipliers.

    The kernel multiplies raw uint8 data x with int8 weights w. What is left of
    Σ(x − zx)(w − zw) = Σxw − zx·Σw − zw·Σx + K·zx·zw is constant but for zw·Σx, which is
    computed only for an asymmetric kernel. Weights of int16 hold w − zw, which leaves constants.

    Weights are ordered by block of output channels, run, step of four bytes, vector, part (even
    and odd bytes; one part for int8), lane, byte. Where steps are listed, every block has as many.

    Args:
        spec: The convolution.
        kernel_ohwi: ``spec.kernel_dtype`` of shape [out_channels, KH, KW, in_channels].
        kernel_zero_point: One for the whole kernel.
        bias: int32 [out_channels]; absent means zeros.
        multiplier: int32 [out_channels] or one for all, not negative; as ``quantize_multiplier``
            gives it; for ``float64`` and ``onednn`` rounding the real multiplier. Not used for
            an ``int32`` output.
        shift: int32 [out_channels] or one for all, -31 to 31 (30 for ``upward`` rounding),
            positive to the left. Not used where the multiplier is real.
        isa: The instruction set of the kernel.
        plan: How AMX's tiles are laid, or tiles of Winograd's transform, if they are used.

    Raises:
        QnnError: if an array does not fit the spec.
    """
    kernel, zero_point = signed_kernel(spec, kernel_ohwi, kernel_zero_point)
    if not isa.has_byte_products:
        kernel, zero_point = kernel - zero_point, 0
    dtype = multiplier_dtype(spec)
    multiplier = per_channel(spec, "multiplier", multiplier, dtype)
    shift = per_channel(spec, "shift", shift)
    bias = per_channel(spec, "bias", 0 if bias is None else bias)
    if dtype == "int32":
        check_scales(spec, multiplier, shift)

    folded_bias, bound = fold_zero_points(spec, kernel, zero_point, bias)
    tiling = choose_tiling(spec, isa) if plan is None else plan.tiling
    lanes = lane_channels(spec, isa, tiling)
    # Data and weights of channels that staging adds are their zero points: the product is zero.
    missing = spec.staged_channels - spec.in_channels
    kernel = np.pad(kernel, ((0, 0),) * 3 + ((0, missing),), constant_values=zero_point)
    requantization, offset, rescaling = pack_requantization(
        spec, isa, multiplier, shift, bound, lanes, bias
    )
    weight_dtype = _weight_dtype(spec, isa, kernel, tiling)
    listed: ListedSteps | None = None
    lists: list[Array] = []
    if isinstance(plan, WinogradPlan):
        weights, weight_dtype = lay_out_transformed(plan, kernel, lanes), isa.weight_dtype
    elif plan is not None:
        weights = lay_out_chunks(plan, kernel.reshape(len(kernel), spec.runs, -1), lanes)
    elif isa.pairs_bytes:
        listed, (weights, *lists) = list_steps(spec, isa, kernel, tiling, lanes)
    else:
        weights = _lay_out_weights(spec, isa, kernel.astype(weight_dtype), tiling, lanes)
    constants = [weights, deal(folded_bias + offset, lanes), *lists]
    if zero_point:
        constants.append(np.array([zero_point], np.int32))
    constants += rescaling
    if isinstance(plan, TilePlan):
        constants.append(tile_configuration(plan))
    return PackedConv(requantization, tiling, weight_dtype, tuple(constants), listed, plan)


def multiplier_dtype(spec: ConvSpec) -> str:
    """In what multipliers are given: real ones, or Q31 integers with shifts."""
    return {"float64": "float64", "onednn": "float32"}.get(spec.output.rounding, "int32")


def pack_requantization(
    spec: ConvSpec,
    isa: Isa,
    multiplier: Array,
    shift: Array,
    accumulator_bound: int,
    lanes: Array,
    bias: Array,
) -> tuple[Requantization, Array, tuple[Array, ...]]:
    """Choose how accumulators become outputs, and lay out its constants.

    Args:
        spec: The convolution.
        isa: The instruction set of the kernel.
        multiplier: [out_channels] of ``multiplier_dtype``.
        shift: int32 [out_channels].
        accumulator_bound: No accumulator is further from zero.
        lanes: The channel of each lane.
        bias: int32 [out_channels], part of the accumulators.

    Returns:
        The sequence; what it wants added to the accumulators, int32 [out_channels]; its arrays.
    """
    if spec.output.rounding == "float64":
        exact = magic_multiplier(spec, multiplier, accumulator_bound)
        values = multiplier if exact is None else exact
        constants = double_constants(deal(values, lanes))
        return double_requantization(exact is not None), np.zeros_like(shift), constants
    if spec.output.rounding == "onednn":
        stage = float_stage_of(spec, multiplier, bias, accumulator_bound)
        constants = float_stage_constants(stage, deal(multiplier, lanes), deal(bias, lanes))
        offset = -bias if stage.adds_bias else np.zeros_like(bias)
        return float_stage_requantization(stage), offset, constants
    # Only AVX512 rounds down where it is told to, not by the processor's state.
    if isa.lanes == 16:
        scales = float_scales(spec, multiplier, shift, accumulator_bound)
        if scales is not None:
            constants = float_constants(scales, partial(deal, lanes=lanes))
            return float_requantization(scales), scales.offset, constants
    requantization = choose_requantization(spec, shift, accumulator_bound)
    constants = requantization_constants(
        spec, requantization, deal(multiplier, lanes), deal(shift, lanes, shift[0])
    )
    return requantization, np.zeros_like(shift), constants


def _weight_dtype(spec: ConvSpec, isa: Isa, kernel: Array, tiling: Tiling) -> str:
    """Keep weights in bytes where each is read once: loading them takes longer than widening."""
    is_read_once = all(tiles_of(spec, section) == 1 for section in tiling)
    fits = kernel.min() >= -128 and kernel.max() <= 127
    return "int8" if is_read_once and fits else isa.weight_dtype


def _lay_out_weights(
    spec: ConvSpec, isa: Isa, kernel: Array, tiling: Tiling, lanes: Array
) -> Array:
    steps = step_weights(spec, kernel)
    steps = steps.reshape(*steps.shape[:-1], spec.step // isa.parts, isa.parts)
    packed = []
    for section in tiling:
        stop = section.first_group + section.blocks * section.groups
        # [blocks, groups, lanes, runs, steps, bytes, parts]; -1 takes the row of zeros.
        block = steps[lanes[section.first_group : stop]]
        block = block.reshape(section.blocks, section.groups, isa.lanes, *steps.shape[1:])
        packed.append(block.transpose(0, 3, 4, 1, 6, 2, 5).reshape(-1))
    return np.concatenate(packed)
