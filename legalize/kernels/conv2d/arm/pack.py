"""The constants of a convolution in the layout that the ARM kernels read."""

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from legalize.kernels.conv2d.arm.epilogue import Chosen, choose_epilogue
from legalize.kernels.conv2d.arm.kernel import conv2d
from legalize.kernels.conv2d.arm.runs import k_step_bytes
from legalize.kernels.conv2d.arm.tiling import choose_tiling, vectors_of
from legalize.kernels.conv2d.constants import (
    fold_zero_points,
    per_channel,
    signed_kernel,
    weight_sums,
)
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import rows_of
from legalize.kernels.conv2d.tiling import Tiling
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.arm import Isa, LongProducts
from legalize.kernels.isa.neon import LANES
from qnn_ops.dialect.attributes import dtype_range

_LOWEST, _HIGHEST = dtype_range("int8")


def pack_conv2d(spec: ConvSpec, weights: Weights, isa: Isa, tiling: Tiling | None = None) -> Ready:
    """Fold zero points into the bias and lay out weights, bias and scales.

    The kernel multiplies raw int8 data x with int8 weights w. The rest of
    Σ(x − zx)(w − zw) = Σxw − zx·Σw − zw·Σx + K·zx·zw is constant except for zw·Σx, which is
    computed only if w − zw takes more than 8 bits.

    Weights are ordered by block of output channels, run, K-step, accumulator, and then by
    ``Isa.order``.

    Args:
        spec: the convolution.
        weights: its constants.
        isa: the instruction set of the kernel.
        tiling: replaces the chosen tiles, for measurements.

    Returns:
        The function of ``conv2d``, with its constants: weights int8 in one row; bias int32
        [vectors, 4]; the kernel's zero point int32 [1], if it takes sums of the data; each row of
        the epilogue [vectors, 4]. With taps also their ranges, uint8 [tiles, 2], and the sums that
        they add in the padding, int32 [rows + 1, vectors, 4], unless these are zero.
    """
    kernel, zero_point = signed_kernel(weights)
    if zero_point and kernel.min() == _LOWEST and kernel.max() < _HIGHEST:
        kernel, zero_point = kernel + 1, zero_point + 1
    folded_bias, chosen = fold(spec, weights, kernel, zero_point)

    # Channels that staging adds hold the zero points, so their products are zero.
    missing = spec.staged_channels - spec.in_channels
    kernel = np.pad(kernel, ((0, 0),) * 3 + ((0, missing),), constant_values=zero_point)
    k_steps = _k_steps(spec, isa, kernel)
    if isinstance(isa, LongProducts):
        isa = replace(isa, has_sums_of_two=_fits_sums_of_two(k_steps))
    taps = rows_of(spec)
    tiling = tiling or choose_tiling(spec, isa, taps)
    constants = [_lay_out(isa, tiling, k_steps), in_vectors(spec, folded_bias)]
    if zero_point:
        constants.append(np.array([zero_point], np.int32))
    constants += [in_vectors(spec, row) for row in chosen.rows]
    if taps is not None:
        constants.append(taps.ranges_of(tiling))
        if spec.staged_zero_point:
            constants.append(np.stack([in_vectors(spec, sums) for sums in taps.sums(kernel)]))
    how = isa, chosen.epilogue, tiling, taps
    return Ready(spec, tuple(constants), partial(conv2d, spec, *how, has_sums=zero_point != 0))


def fold(spec: ConvSpec, weights: Weights, kernel: Array, zero_point: int) -> tuple[Array, Chosen]:
    """Fold zero points into the bias.

    Args:
        spec: the convolution.
        weights: its constants.
        kernel: the multiplied weights, OHWI.
        zero_point: the kernel's zero point that these weights do not include.

    Returns:
        The bias that raw products need, and the epilogue.
    """
    multiplier, shift, bias = per_channel(spec, weights)
    folded_bias, _ = fold_zero_points(spec, weight_sums(kernel, zero_point), bias)
    return folded_bias, choose_epilogue(spec.output, multiplier, shift)


def in_vectors(spec: ConvSpec, values: Array) -> Array:
    """Lay out values per channel as [vectors, 4], with zeros after the last channel."""
    rest = vectors_of(spec) * LANES - len(values)
    return np.pad(values, (0, rest)).reshape(-1, LANES)


def _k_steps(spec: ConvSpec, isa: Isa, kernel: Array) -> npt.NDArray[np.int8]:
    """Return the weights of each K-step: [accumulators, runs, K-steps, channels, depth]."""
    runs: Array = kernel.reshape(spec.out_channels, spec.runs, spec.run_length)
    channels = vectors_of(spec) * LANES
    # Append a channel of zeros, and to each run a byte of zeros, which index -1 selects.
    runs = np.pad(runs, ((0, channels - spec.out_channels), (0, 0), (0, 1))).astype(np.int8)
    k_steps = runs[:, :, k_step_bytes(spec.run_length, isa)]
    return k_steps.reshape(-1, isa.channels, *k_steps.shape[1:]).transpose(0, 2, 3, 1, 4)


def _fits_sums_of_two(k_steps: npt.NDArray[np.int8]) -> bool:
    """Tell whether no two products that are added in 16 bits can both be (−128)·(−128)."""
    is_lowest = k_steps == _LOWEST
    return not (is_lowest[..., :2] & is_lowest[..., 2:]).any()


def _lay_out(isa: Isa, tiling: Tiling, k_steps: npt.NDArray[np.int8]) -> Array:
    ordered = isa.order(k_steps)
    per_vector = LANES // isa.channels
    packed = []
    for section in tiling:
        first = section.first_vector * per_vector
        columns = section.nr * per_vector
        block = ordered[first : first + section.blocks * columns]
        block = block.reshape(section.blocks, columns, *ordered.shape[1:])
        packed.append(block.transpose(0, 2, 3, 1, 4).reshape(-1))
    return np.concatenate(packed)
