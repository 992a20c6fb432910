"""Rules for convolutions and dense layers on microcontrollers."""

from functools import partial

import numpy as np

from legalize.kernels.conv2d.calls import is_huge, operands_of, sums_first
from legalize.kernels.conv2d.constants import each_group
from legalize.kernels.conv2d.mcu.dense import dense_in_two
from legalize.kernels.conv2d.mcu.epilogue import Epilogue, epilogue_of, reach_of
from legalize.kernels.conv2d.mcu.helium import kernel as helium
from legalize.kernels.conv2d.mcu.kernel import (
    JOINED,
    choose_tile,
    conv2d,
    depth_of,
    join,
    packed_rows,
)
from legalize.kernels.conv2d.plan import Planner, Ready, Weights
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.helium import FOUR, HELIUM
from legalize.kernels.isa.mcu import CORES, PAIRS, PLAIN_C, RISCV32
from legalize.kernels.kernel import Builder, Lowered, Operands, Row
from legalize.kernels.rescale import USUAL
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.rounding import ROUNDINGS
from qnn_ops.arithmetic.sums import conv_factor, dense_factor
from qnn_ops.dialect.registry import Attrs


def plan_conv2d(
    spec: ConvSpec, weights: Weights, *, has_pairs: bool, is_plain_c: bool = False
) -> Ready | None:
    """Plan a convolution, if its rescaling has a form."""
    rows = weights.kernel.reshape(spec.out_channels, -1)
    epilogue = epilogue_of(spec, weights, rows)
    if epilogue is None:
        return None
    can_join = has_pairs and _can_join(spec, rows, epilogue)
    tile = choose_tile(spec, has_pairs=has_pairs, can_join=can_join, is_plain_c=is_plain_c)
    constants = (packed_rows(rows, tile, depth_of(spec, tile)), *epilogue.constants())
    return Ready(spec, constants, partial(conv2d, spec, tile=tile, epilogue=epilogue))


def _can_join(spec: ConvSpec, rows: Array, epilogue: Epilogue) -> bool:
    """Tell whether two channels' weights and sums fit one number each."""
    start = 0 if epilogue.bias is None else np.abs(epilogue.bias).max()
    sums = [np.abs(end).max() + start for end in reach_of(rows, spec.in_dtype)]
    return join(rows) is not None and max(sums) < 1 << (31 - JOINED)


def plan_helium(spec: ConvSpec, weights: Weights) -> Ready | None:
    """Plan a convolution of int8, if its rescaling has a form of 32 bits."""
    rows = weights.kernel.reshape(spec.out_channels, -1)
    epilogue = helium_epilogue(spec, weights, rows)
    if epilogue is None:
        return None
    arrays = helium.packed_rows(spec, rows), *epilogue.constants(FOUR)
    return Ready(spec, arrays, partial(helium.conv2d, spec, epilogue))


def helium_epilogue(
    spec: ConvSpec, weights: Weights, rows: Array, usual: int = USUAL
) -> Epilogue | None:
    """Return the epilogue, if the kernels have the arithmetic.

    Args:
        spec: the convolution.
        weights: its weights.
        rows: the weights of each output channel.
        usual: see ``prove``.
    """
    if spec.in_dtype != "int8":
        return None
    epilogue = epilogue_of(spec, weights, rows, usual)
    if epilogue is None or (epilogue.form is not None and epilogue.form.is_wide):
        return None
    return epilogue


def rules_of(plan: Planner) -> ConvRules:
    """Return the rules of a planner."""
    return ConvRules(plan, lambda attrs, _: attrs.rounding in ROUNDINGS, "int8", stages=False)


def _dense(builder: Builder, attrs: Attrs, operands: Operands, *, plan: Planner) -> Lowered:
    """Return a dense layer; None if the kernel would leave its rescaling to floats."""
    if attrs.rounding == "float64" and is_huge(operands_of(operands)[2]):
        return None
    return rules_of(plan).dense(builder, attrs, operands)


def _rows(features: tuple[str, ...], plan: Planner) -> list[Row]:
    conv2d = sums_first(each_group(rules_of(plan).conv2d), conv_factor)
    dense = sums_first(partial(_dense, plan=plan), dense_factor)
    return [(quantized_conv2d, features, conv2d), (quantized_dense, features, dense)]


_PLANS: tuple[tuple[tuple[str, ...], Planner], ...] = (
    (PLAIN_C, partial(plan_conv2d, has_pairs=False, is_plain_c=True)),
    (PAIRS, partial(plan_conv2d, has_pairs=True)),
    (CORES, partial(plan_conv2d, has_pairs=False)),
    (RISCV32, partial(plan_conv2d, has_pairs=False)),
)

ROWS: list[Row] = [
    *_rows(HELIUM, plan_helium),
    *(row for features, plan in _PLANS for row in _rows(features, plan)),
    # These are layers that no kernel computes whole.
    *(
        (quantized_dense, features, partial(dense_in_two, rule=rules_of(plan).dense))
        for features, plan in _PLANS
    ),
]
