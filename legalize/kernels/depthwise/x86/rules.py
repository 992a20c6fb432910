"""Rules for depthwise convolutions on x86, and the layout of their constants."""

from functools import partial

import numpy as np

from legalize.kernels.conv2d.calls import ends_in_floats, sums_first
from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.epilogue.choose import choose_epilogue, fold
from legalize.kernels.depthwise.x86.kernel import depthwise_conv2d
from legalize.kernels.depthwise.x86.plan import PLANES, Plan, choose_cells, choose_plan
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.x86 import ISAS, Isa
from legalize.kernels.kernel import Row
from qnn_ops import quantized_conv2d
from qnn_ops.arithmetic.sums import conv_factor

_ROUNDINGS = ("tflite", "upward", "float32", "onednn")


def pack_depthwise(spec: ConvSpec, weights: Weights, isa: Isa, plan: Plan | None = None) -> Ready:
    """Fold zero points into weights and bias, and lay them out.

    The kernel multiplies raw uint8 data x by w − zw, which takes 9 bits and a sign: a sum of one or
    two int8 if possible, otherwise int16. The rest of Σ(x − zx)(w − zw) is −zx·Σ(w − zw), which is
    constant.

    Weights are ordered by block of channels, product, plane, lane, slot of the cell.

    Args:
        spec: the convolution.
        weights: its constants.
        isa: the instruction set of the kernel.
        plan: replaces the chosen plan, for measurements.

    Returns:
        The function of ``depthwise_conv2d``, with its constants: weights int8 or int16 [values];
        bias int32 [vectors, lanes]; the arrays of the epilogue.
    """
    centred = weights.centred.astype(np.int64)
    folded_bias, scales = fold(spec, weights, centred.transpose(2, 0, 1), 0)
    plan = plan or choose_plan(spec, isa, choose_cells(centred, isa))
    lanes = plan.lane_channels()
    chosen = choose_epilogue(spec.output, scales, lanes)
    bias = deal(folded_bias + chosen.offset, lanes)
    constants = (_lay_out_weights(plan, centred, lanes), bias, *chosen.arrays)
    return Ready(spec, constants, partial(depthwise_conv2d, plan, chosen.epilogue))


def _lay_out_weights(plan: Plan, centred: Array, lanes: Array) -> Array:
    taps = plan.form.taps
    # Append a row and a channel of zeros, which index -1 selects.
    rest = np.pad(centred, ((0, 1), (0, 0), (0, 1)))
    parts = []
    for _ in range(plan.form.terms):
        part = np.clip(rest, -128, 127) if taps == 4 else rest
        rest = rest - part
        parts.append(part)
    products = []
    for column, row, cell, term in plan.products:
        rows = [plan.kernel_row(row, cell, slot) for slot in range(taps)]
        products.append(parts[term][rows, column][:, lanes])
    # [products, taps, blocks, planes, lanes] to [blocks, products, planes, lanes, taps].
    shape = (len(products), taps, -1, PLANES, plan.isa.lanes)
    dealt = np.stack(products).reshape(shape).transpose(2, 0, 3, 4, 1)
    return dealt.reshape(-1).astype(np.int8 if taps == 4 else np.int16)


def _rules_of(isa: Isa) -> ConvRules:
    plan = partial(pack_depthwise, isa=isa)
    return ConvRules(plan, lambda attrs, _: attrs.rounding in _ROUNDINGS, stages=False)


ROWS: list[Row] = [
    (
        quantized_conv2d,
        isa.features,
        sums_first(_rules_of(isa).depthwise, conv_factor, ends_in_floats),
    )
    for isa in ISAS
]
