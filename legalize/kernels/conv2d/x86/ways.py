"""The ways to compute a convolution on x86. A new way is a folder, and a line here."""

from math import inf

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx import plan as amx
from legalize.kernels.conv2d.x86.amx.rows import plan_tiled_rows
from legalize.kernels.conv2d.x86.dot import plan as dot
from legalize.kernels.conv2d.x86.pairs import plan as pairs
from legalize.kernels.conv2d.x86.plan import Plan, Way
from legalize.kernels.conv2d.x86.rows import plan_rows
from legalize.kernels.conv2d.x86.winograd import plan as winograd
from legalize.kernels.isa.x86 import Isa

WAYS: tuple[Way, ...] = (dot.plan, amx.plan, winograd.plan, pairs.plan)
"""The first way serves every convolution. Ways that are costly to plan come last."""


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
