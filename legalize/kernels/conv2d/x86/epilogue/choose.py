"""The choice of a convolution's epilogue. A new epilogue is a file, and a line here."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from legalize.kernels.conv2d.constants import fold_zero_points, per_channel, weight_sums
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.conv2d.x86.epilogue.fixed_point import FixedPoint, General, Sums
from legalize.kernels.conv2d.x86.epilogue.float32 import Float32
from legalize.kernels.conv2d.x86.epilogue.float64 import Double, Magic
from legalize.kernels.conv2d.x86.epilogue.onednn import OneDnn
from legalize.kernels.conv2d.x86.epilogue.real import Real
from legalize.kernels.conv2d.x86.epilogue.residual import RoundedSum
from legalize.kernels.conv2d.x86.epilogue.truncated import Floor, Truncated
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.base import FloatForm

EPILOGUES: dict[str, tuple[type[Epilogue], ...]] = {
    "tflite": (Floor, Truncated, Float32, FixedPoint, General),
    "upward": (Floor, Float32, FixedPoint, General),
    "float32": (OneDnn,),
    "float64": (Magic, Double),
    "onednn": (OneDnn,),
}
"""The epilogues of outputs that are rounded, by the rounding, the cheapest first."""

_SMALL_SHIFT = -7
"""The shift of channels without weights, unless another channel shifts less to the right."""


def fold(spec: ConvSpec, weights: Weights, kernel: Array, zero_point: int) -> tuple[Array, Scales]:
    """Fold zero points into the bias.

    Args:
        spec: the convolution.
        weights: its constants.
        kernel: the multiplied weights, OHWI.
        zero_point: the kernel's zero point, if it is not subtracted from the weights yet.

    Returns:
        The bias that raw products need, and the scales of accumulators.
    """
    multiplier, shift, bias = per_channel(spec, weights)
    signed = weight_sums(kernel, zero_point)
    is_fixed = multiplier.dtype == np.int32 and not spec.output.fills_lanes
    if is_fixed and spec.fusion.addend is None:
        has_weights = signed[0] > signed[1]
        multiplier, shift, bias = _small_sums(spec.output, has_weights, multiplier, shift, bias)
    folded, bounds = fold_zero_points(spec, signed, bias)
    return folded, Scales(
        multiplier, shift, bias, bounds, weights.columns, addend=spec.fusion.addend
    )


def _small_sums(
    output: OutputStage, has_weights: Array, multiplier: Array, shift: Array, bias: Array
) -> tuple[Array, Array, Array]:
    """Return multipliers, shifts and a bias with which channels without weights have small sums.

    A channel without weights has one output. Converters give it the smallest possible scale and a
    bias near 2^30. One sum of this size would keep the whole layer from the cheaper epilogues.
    """
    zero_point = output.zero_point
    outputs = output.rule.scaled(bias, multiplier, shift).astype(np.int64) + zero_point
    steps = np.clip(outputs, output.low, output.high) - zero_point
    # A power of two divides exactly. The shift is one of the other channels', if that is small.
    common = min(int(shift.max(where=has_weights, initial=_SMALL_SHIFT)), 0)
    return (
        np.where(has_weights, multiplier, 1 << 30),
        np.where(has_weights, shift, common),
        np.where(has_weights, bias, steps << (1 - common)).astype(bias.dtype),
    )


def choose_epilogue(
    output: OutputStage, scales: Scales, lanes: Array, factors: Sequence[int] = (1,)
) -> Chosen:
    """Choose the cheapest sequence that is exact.

    Args:
        output: see ``Epilogue.choose``.
        scales: see ``Epilogue.choose``.
        lanes: see ``Epilogue.choose``.
        factors: the factors by which accumulators may be too large, the cheapest first; the last is
            1.
    """
    kinds: tuple[type[Epilogue], ...] = (Sums, Real, *EPILOGUES[output.rounding])
    every = (
        each.choose(output, own, lanes)
        for own in (replace(scales, factor=factor) for factor in factors)
        for each in kinds
        if own.factor == 1 or each.takes_factor
    )
    chosen = next(each for each in every if each is not None)
    constants = tuple((str(array.dtype), array.shape[1]) for array in chosen.arrays)
    return chosen._replace(epilogue=replace(chosen.epilogue, constants=constants))


def with_residual(spec: ConvSpec, epilogue: Epilogue) -> Epilogue:
    """Let an epilogue of floats add the residual's tensor, if the sum is of floats."""
    residual = spec.fusion.residual
    if residual is None or not isinstance(residual.form, FloatForm):
        return epilogue
    return replace(epilogue, float_sum=RoundedSum(spec.output, residual.form))
