"""Rules for depthwise convolutions on ARM, and the layout of their constants."""

from dataclasses import replace
from functools import partial

import numpy as np

from legalize.kernels.conv2d.arm.pack import fold
from legalize.kernels.conv2d.arm.rules import LEAST_DEPTHWISE, rules_of
from legalize.kernels.conv2d.calls import sums_first
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.arm.kernel import depthwise_conv2d
from legalize.kernels.depthwise.arm.plan import Plan, choose_plan, split_weights
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.arm import ARMV7, NEON, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d
from qnn_ops.arithmetic.sums import conv_factor


def pack_depthwise(spec: ConvSpec, weights: Weights, isa: Isa) -> Ready:
    """Fold zero points into weights and bias, and lay them out.

    The kernel multiplies raw int8 data x by w − zw, which is a sum of int8. The rest of
    Σ(x − zx)(w − zw) is −zx·Σ(w − zw), which is constant.

    Weights are ordered by block of channels, kernel row (if rows are looped over), term, channel.

    Args:
        spec: the convolution.
        weights: its constants.
        isa: the instruction set of the kernel.

    Returns:
        The function of ``depthwise_conv2d``, with its constants: weights int8 in one row; bias
        int32 [vectors, 4]; each row of the epilogue [vectors, 4].
    """
    centred = weights.centred.astype(np.int64)
    folded_bias, chosen = fold(spec, weights, centred.transpose(2, 0, 1), 0)
    parts = split_weights(centred)
    plan = choose_plan(spec, isa, parts)
    lanes = plan.lane_channels()
    rows = (row[lanes] for row in chosen.rows)
    constants = (_lay_out_weights(plan, parts), folded_bias[lanes], *rows)
    return Ready(spec, constants, partial(depthwise_conv2d, plan, chosen.epilogue))


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


def _plan(spec: ConvSpec, weights: Weights, *, isa: Isa) -> Ready | None:
    if spec.out_channels < LEAST_DEPTHWISE:
        return None
    return pack_depthwise(spec, weights, isa)


def _row(isa: Isa) -> Row:
    rules = replace(rules_of(isa), plan=partial(_plan, isa=isa))
    return quantized_conv2d, isa.features, sums_first(rules.depthwise, conv_factor)


ROWS = [_row(isa) for isa in (NEON, ARMV7)]
