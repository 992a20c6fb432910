"""Decides whether a network uses AMX's tiles at all.

A processor that multiplies tiles lowers its clock for all other code, too. So tiles do not pay if
they make only a few layers a little faster, and the network spends most of its time elsewhere.
"""

from dataclasses import replace
from math import prod

import tvm
from tvm import relax
from tvm.target import Target

from legalize.kernels.blockwise import tiles
from legalize.kernels.blockwise.rules import Layer, layer_of
from legalize.kernels.conv2d.calls import conv_call, dense_call
from legalize.kernels.conv2d.x86.amx.cost import nanoseconds_among_others, vector_nanoseconds
from legalize.kernels.conv2d.x86.amx.plan import TilePlan
from legalize.kernels.conv2d.x86.plan import Plan
from legalize.kernels.conv2d.x86.rules import cheapest_plan, ends_in
from legalize.kernels.ir.tasks import TYPICAL_ROWS
from legalize.kernels.isa.amx import ROWS
from legalize.kernels.isa.targets import has_features
from legalize.kernels.isa.x86 import AMX
from legalize.kernels.isa.x86_vectors import AVX512_VNNI
from legalize.kernels.kernel import has_open_size
from qnn_ops import blockwise_dense, quantized_conv2d, quantized_dense
from qnn_ops.dialect.registry import attrs_of, operator_of, type_spec
from qnn_ops.dialect.sizes import is_open

# The share of time that all other code loses; the cost of a call of tiles contains the rest.
_CLOCK = 0.05
# Nanoseconds for each result element of an operator other than convolutions and dense layers.
_ELEMENT = 0.25

_CALLS = {quantized_conv2d: conv_call, quantized_dense: dense_call}


def target_of_kernels(mod: tvm.IRModule, target: Target) -> Target:
    """Return the target whose kernels a network uses: the given one, or the same without tiles.

    Args:
        mod: contains calls of the dialect, as before ``UseKernels``.
        target: the processor.
    """
    if not has_features(target, AMX.features) or prefers_tiles(mod):
        return target
    fields = dict(target.export())
    kept = [each for each in fields.get("mattr", ()) if not each.startswith("+amx")]
    return Target({**fields, "mattr": [*kept, "-amx-int8"]})


def prefers_tiles(mod: tvm.IRModule) -> bool:
    """Tell whether a network takes less time with tiles than without, by estimates.

    Operators of open sizes have no estimate, except dense layers.
    """
    saved = others = 0.0
    for call in _calls(mod):
        plan, layer = _plan_of(call), _few_bits_of(call)
        if layer is not None and layer.fits_tiles:
            saved += tiles.vector_nanoseconds(layer.spec) - tiles.nanoseconds(layer.spec)
        elif layer is not None:
            others += tiles.vector_nanoseconds(layer.spec)
        elif plan is None and has_open_size(call):
            continue
        elif plan is None:
            others += _ELEMENT * prod(type_spec(call.ty, "a result").shape)
        elif isinstance(plan, TilePlan):
            saved += vector_nanoseconds(plan.spec) - nanoseconds_among_others(plan)
        else:
            others += vector_nanoseconds(plan.spec)
    return saved > _CLOCK * others


def _calls(mod: tvm.IRModule) -> list[relax.Call]:
    """Return the calls of the dialect."""
    found: list[relax.Call] = []

    def collect(expr: relax.Expr) -> None:
        if operator_of(expr) is not None:
            found.append(expr)

    for function in mod.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, collect)
    return found


def _plan_of(call: relax.Call) -> Plan | None:
    """Plan a convolution or dense layer; None for any other call.

    Dense layers of open rows count as layers of typical ones.
    """
    operator = operator_of(call)
    if operator is not quantized_dense and has_open_size(call):
        return None
    described = _CALLS.get(operator)
    found = described and described(attrs_of(call), list(call.args), ends_in)
    if not found:
        return None
    spec = replace(found.spec, staged_dtype="uint8")
    if is_open([spec.batch]):
        spec = replace(spec, batch=TYPICAL_ROWS)
    return cheapest_plan(spec, AMX, found.weights)


def _few_bits_of(call: relax.Call) -> Layer | None:
    """Describe a layer with weights of a few bits; None for any other call."""
    if operator_of(call) is not blockwise_dense:
        return None
    layer = layer_of(attrs_of(call), list(call.args), AVX512_VNNI)
    if layer is None or not is_open([layer.spec.rows]):
        return layer
    # ``by_rows`` computes 16 rows at a time.
    return layer._replace(spec=replace(layer.spec, rows=ROWS))
