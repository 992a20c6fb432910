"""Constants of a depthwise convolution in the layout that its kernel reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from legalize.kernels.conv2d.constants import (
    centred_kernel,
    check_scales,
    deal,
    fold_zero_points,
    per_channel,
)
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.epilogue.fixed_point import Requantization
from legalize.kernels.conv2d.x86.pack import multiplier_dtype, pack_requantization
from legalize.kernels.depthwise.x86.plan import PLANES, Plan, choose_cells, choose_plan
from legalize.kernels.isa.x86 import AVX512_VNNI, Isa

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PackedDepthwise:
    """A depthwise convolution's constants, and what its function must know about them.

    Attributes:
        requantization: How accumulators become outputs.
        plan: The order for which the constants are laid out.
        constants: The arrays that the function of ``depthwise_conv2d`` takes between data and
            output: weights int8 or int16 [values]; bias int32 [vectors, lanes]; the arrays of the
            requantization.
    """

    requantization: Requantization
    plan: Plan
    constants: tuple[Array, ...]


def pack_depthwise(
    spec: ConvSpec,
    kernel_hwc: Array,
    kernel_zero_point: Array | int = 0,
    bias: Array | None = None,
    multiplier: Array | int = 0,
    shift: Array | int = 0,
    isa: Isa = AVX512_VNNI,
    *,
    plan: Plan | None = None,
) -> PackedDepthwise:
    """Fold zero points into weights and bias, and lay them out.

    The kernel multiplies raw uint8 data x by w − zw, which takes 9 bits and a sign: one or two int8
    where they can be summed to it, else int16. What is left of Σ(x − zx)(w − zw) is −zx·Σ(w − zw),
    which is constant.

    Weights are ordered by block of channels, kernel column, pair of output row and cell, term,
    plane, lane, slot of the cell.

    Args:
        spec: The convolution.
        kernel_hwc: ``spec.kernel_dtype`` of shape [KH, KW, channels].
        kernel_zero_point: One for all channels or one for each.
        bias: int32 [channels]; absent means zeros.
        multiplier: As for ``pack_conv2d``.
        shift: As for ``pack_conv2d``.
        isa: The instruction set of the kernel.
        plan: To measure others than the chosen one.

    Raises:
        QnnError: if an array does not fit the spec.
    """
    centred = centred_kernel(spec, kernel_hwc, kernel_zero_point)
    dtype = multiplier_dtype(spec)
    multiplier = per_channel(spec, "multiplier", multiplier, dtype)
    shift = per_channel(spec, "shift", shift)
    bias = per_channel(spec, "bias", 0 if bias is None else bias)
    if dtype == "int32":
        check_scales(spec, multiplier, shift)
    folded_bias, bound = fold_zero_points(spec, centred.transpose(2, 0, 1), 0, bias)
    plan = plan or choose_plan(spec, isa, choose_cells(centred, isa))
    lanes = plan.lane_channels()
    requantization, offset, rescaling = pack_requantization(
        spec, isa, multiplier, shift, bound, lanes, bias
    )
    weights = _lay_out_weights(plan, centred, lanes)
    constants = (weights, deal(folded_bias + offset, lanes), *rescaling)
    return PackedDepthwise(requantization, plan, constants)


def _lay_out_weights(plan: Plan, centred: Array, lanes: Array) -> Array:
    taps, terms = plan.form.taps, plan.form.terms
    order = np.array(
        [[plan.kernel_row(*pair, slot) for slot in range(taps)] for pair in plan.products[::terms]]
    )
    # A row and a channel of zeros, which -1 takes.
    rest = np.pad(centred, ((0, 1), (0, 0), (0, 1)))
    parts = []
    for _ in range(terms):
        part = np.clip(rest, -128, 127) if taps == 4 else rest
        rest = rest - part
        parts.append(part[order][..., lanes])
    # [pairs, terms, taps, columns, vectors, lanes] to [blocks, planes, lanes, products, ...].
    dealt = np.stack(parts, axis=1).transpose(4, 5, 0, 1, 2, 3)
    shape = (-1, PLANES, plan.isa.lanes, len(plan.products), taps, plan.spec.kernel_width)
    dtype = np.int8 if taps == 4 else np.int16
    return dealt.reshape(shape).transpose(0, 5, 3, 1, 2, 4).reshape(-1).astype(dtype)
