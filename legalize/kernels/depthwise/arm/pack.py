"""Constants of a depthwise convolution in the layout that its kernel reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from legalize.kernels.conv2d.arm.epilogue import Requantization, choose_requantization
from legalize.kernels.conv2d.constants import centred_kernel, fold_zero_points, per_channel
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.arm.plan import Plan, choose_plan, split_weights
from legalize.kernels.isa.arm import Isa

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PackedDepthwise:
    """A depthwise convolution's constants, and what its function must know about them.

    Attributes:
        plan: The order for which the constants are laid out.
        requantization: How accumulators become outputs.
        constants: The arrays that the function of ``depthwise_conv2d`` takes between data and
            output: weights int8 in one row; bias int32 [vectors, 4]; each row of the
            requantization [vectors, 4].
    """

    plan: Plan
    requantization: Requantization
    constants: tuple[Array, ...]

    @property
    def row_dtypes(self) -> tuple[str, ...]:
        """The dtypes of the requantization's rows."""
        return tuple(str(row.dtype) for row in self.constants[2:])


def pack_depthwise(
    spec: ConvSpec,
    isa: Isa,
    kernel_hwc: Array,
    kernel_zero_point: Array | int = 0,
    bias: Array | None = None,
    real_multiplier: Array | float = 0.0,
) -> PackedDepthwise:
    """Fold zero points into weights and bias, and lay them out.

    The kernel multiplies raw int8 data x by w − zw, which is a sum of int8. What is
    left of Σ(x − zx)(w − zw) is −zx·Σ(w − zw), which is constant.

    Weights are ordered by block of channels, row of the kernel if rows are looped over, term,
    channel.

    Args:
        spec: The convolution.
        isa: The instruction set of the kernel.
        kernel_hwc: ``spec.kernel_dtype`` of shape [KH, KW, channels].
        kernel_zero_point: One for all channels or one for each.
        bias: As for ``pack_conv2d``.
        real_multiplier: As for ``pack_conv2d``.

    Raises:
        QnnError: if an array does not fit the spec.
    """
    centred = centred_kernel(spec, kernel_hwc, kernel_zero_point)
    real_multiplier = per_channel(spec, "real_multiplier", real_multiplier, "float64")
    bias = per_channel(spec, "bias", 0 if bias is None else bias)
    folded_bias, _ = fold_zero_points(spec, centred.transpose(2, 0, 1), 0, bias)
    requantization, rows = choose_requantization(spec, real_multiplier)
    parts = split_weights(centred)
    plan = choose_plan(spec, isa, parts)
    lanes = plan.lane_channels()
    weights = _lay_out_weights(plan, parts)
    scales = (values.astype(dtype)[lanes] for dtype, values in rows)
    return PackedDepthwise(plan, requantization, (weights, folded_bias[lanes], *scales))


def _lay_out_weights(plan: Plan, parts: list[Array]) -> Array:
    rows = range(plan.spec.kernel_height if plan.is_looped else 1)
    terms = np.stack([parts[part][row + ky, kx] for row in rows for ky, kx, part in plan.terms])
    packed = []
    for section in plan.sections:
        stop = section.first_channel + section.blocks * section.width
        block = terms[:, section.first_channel : stop]
        block = block.reshape(len(terms), section.blocks, section.width)
        packed.append(block.transpose(1, 0, 2).reshape(-1))
    return np.concatenate(packed).astype(np.int8)
