"""Rules for convolutions and dense layers on x86."""

from functools import partial
from math import inf

from legalize.kernels.call import shares_code
from legalize.kernels.conv2d.calls import ends_in_floats, sums_first
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.rules import ConvRules
from legalize.kernels.conv2d.spec import ConvSpec, Fusion
from legalize.kernels.conv2d.x86.amx import plan as amx
from legalize.kernels.conv2d.x86.amx.rows import plan_tiled_rows
from legalize.kernels.conv2d.x86.dot import plan as dot
from legalize.kernels.conv2d.x86.pairs import plan as pairs
from legalize.kernels.conv2d.x86.plan import Plan, Way
from legalize.kernels.conv2d.x86.rows import plan_rows
from legalize.kernels.conv2d.x86.winograd import plan as winograd
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.x86 import AMX, ISAS, Isa
from legalize.kernels.kernel import Builder, Lowered, OpenRule, Operands, Row
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.rounding import REDUCED
from qnn_ops.arithmetic.sums import conv_factor, dense_factor
from qnn_ops.dialect.registry import Attrs
from qnn_ops.dialect.sizes import is_open

CONV_ISAS = (AMX, *ISAS)
"""The instruction sets of convolutions, the fastest first."""

WAYS: tuple[Way, ...] = (dot.plan, amx.plan, winograd.plan, pairs.plan)
"""The ways to compute a convolution on x86. A new way is a folder, and an entry here.

The first way serves every convolution. Ways that are costly to plan come last.
"""


def plan_of_open_rows(spec: ConvSpec, isa: Isa, weights: Weights) -> Plan | None:
    """Choose the way of a dense layer of open rows; None if no kernel can serve it."""
    vectors = plan_rows(spec, isa, weights)
    return vectors and (plan_tiled_rows(spec, isa, weights, vectors.cost) or vectors)


def cheapest_plan(spec: ConvSpec, isa: Isa, weights: Weights) -> Plan:
    """Choose the cheapest way for an instruction set, the convolution's shape and its weights."""
    cheapest: Plan | None = None
    for way in WAYS:
        most = inf if cheapest is None else cheapest.cost
        cheapest = way(spec, isa, weights, most) or cheapest
    assert cheapest is not None
    return cheapest


def ends_in(attrs: Attrs, _multiplier: Array) -> bool:
    """Tell whether kernels can round as a call does."""
    return attrs.rounding != REDUCED


def rules_of(isa: Isa) -> ConvRules:
    """Return the rules of an instruction set."""

    def plan(spec: ConvSpec, weights: Weights) -> Ready | None:
        way = plan_of_open_rows if is_open([spec.batch]) else cheapest_plan
        planned = way(spec, isa, weights)
        return None if planned is None else planned.ready(weights)

    return ConvRules(plan, ends_in)


def _sum(builder: Builder, attrs: Attrs, operands: Operands, *, isa: Isa) -> Lowered:
    """Return a convolution that adds a tensor, on processors with fused multiply-adds."""
    if len(operands) < 4 or isa.lanes < 8:
        return None
    return rules_of(isa).conv2d(builder, attrs, operands)


def _rows(isa: Isa) -> list[Row]:
    rules = rules_of(isa)

    def shared(builder: Builder, attrs: Attrs, operands: Operands) -> Lowered:
        fusion = Fusion(is_shared=shares_code(builder, operands[0]))
        return rules.conv2d(builder, attrs, operands, fusion=fusion)

    conv2d = sums_first(shared, conv_factor, ends_in_floats)
    dense = sums_first(rules.dense, dense_factor, ends_in_floats)
    return [
        (quantized_conv2d, (*isa.features, "fma"), partial(_sum, isa=isa)),
        (quantized_conv2d, isa.features, conv2d),
        (quantized_dense, isa.features, OpenRule(dense)),
    ]


ROWS = [row for isa in CONV_ISAS for row in _rows(isa)]
