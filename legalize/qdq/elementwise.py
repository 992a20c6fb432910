"""Sums, differences and products of two tensors, and activations.

Three kinds of activations are served: clips that the quantize does by itself, functions as tables,
and softmax. In XNNPACK, convolutions and products of matrices may end in relu or hardtanh, and sums
in relu. After any other operator XNNPACK computes both in float. On a quantized tensor they are
bounds of its integers or, if the result has another scale, a table.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.qdq.group import (
    RUNTIMES,
    Group,
    LeftInFloatError,
    NoRuleError,
    operator_name,
    rule,
)
from qnn_ops import (
    dequantize,
    quantize,
    quantized_add,
    quantized_lookup,
    quantized_multiply,
    quantized_softmax,
    quantized_subtract,
)
from qnn_ops.arithmetic.onnxruntime import hyperbolic_tangent, is_within, logistic, tabulated
from qnn_ops.arithmetic.xnnpack import XNNPACK, clamp_table
from qnn_ops.dialect.attributes import bounds as bounds_of
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import as_const, attrs_of, operator_of, spec_of, with_attrs


@rule("add", arithmetics=tuple(RUNTIMES))
def _add(group: Group, call: relax.Call) -> relax.Expr:
    biased = with_bias(group, call)
    return of_pair(group, call, quantized_add) if biased is None else biased


def with_bias(group: Group, call: relax.Call) -> relax.Expr | None:
    """Return the integers of an addition if it adds a bias; otherwise None.

    Raises:
        LeftInFloatError: as ``Group.folded`` does.
    """
    for expr, other in (call.args, reversed(call.args)):
        value = group.value(expr)
        name, rules = operator_name(value), group.runtime.biased
        if name in rules:
            if group.uses.get(expr, 0) > 1:
                raise LeftInFloatError(f"the result of {name} has other readers")
            return rules[name](group, value, other)
    return None


def of_pair(group: Group, call: relax.Call, operator: Any) -> relax.Expr:
    """Return the call of the dialect's operator of two tensors.

    Args:
        group: the group that it replaces.
        call: the group's float operator.
        operator: the dialect's operator.

    Raises:
        NoRuleError, LeftInFloatError: as ``Group.activation`` does.
    """
    lhs, rhs = (group.activation(operand) for operand in call.args)
    result: relax.Expr = operator(
        lhs.data,
        rhs.data,
        **lhs.named("lhs"),
        **rhs.named("rhs"),
        **group.result(),
        arithmetic=group.arithmetic,
    )
    return result


rule("subtract", arithmetics=[XNNPACK])(partial(of_pair, operator=quantized_subtract))
rule("multiply", arithmetics=tuple(RUNTIMES))(partial(of_pair, operator=quantized_multiply))


@rule("nn.relu", "clip")
def _clip(group: Group, call: relax.Call) -> relax.Expr:
    if not is_within(group.encoding, _ends(call)):
        raise LeftInFloatError(
            "its range is wider than the activation's, so ONNX Runtime computes it in float"
        )
    return group.folded(call.args[0])


@rule("sigmoid", "tanh", "nn.leakyrelu")
def _tabulated(group: Group, call: relax.Call) -> relax.Expr:
    data, attrs = group.activation(call.args[0]), call.attrs
    functions = {
        "relax.sigmoid": logistic,
        "relax.tanh": hyperbolic_tangent,
        "relax.nn.leakyrelu": lambda x: np.where(x >= 0, x, np.float32(attrs.alpha) * x),
    }
    table = tabulated(data.encoding, group.encoding, functions[operator_name(call)])
    return quantized_lookup(data.data, as_const(table))


def number(value: relax.Expr) -> float:
    """Return the number that is an argument of ``R.clip``."""
    number = getattr(value, "value", value)
    if isinstance(number, tvm.tirx.FloatImm | tvm.tirx.IntImm):
        number = number.value
    return float(number)


@rule("nn.softmax")
def _softmax(group: Group, call: relax.Call) -> relax.Expr:
    data = group.activation(call.args[0])
    rank, emit = len(spec_of(data.data).shape), group.builder.emit
    axis = int(call.attrs.axis) % rank
    swapped = list(range(rank))
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    values = data.data if axis == rank - 1 else emit(R.permute_dims(data.data, swapped))
    encodings = {**data.named("input"), **group.result()}
    result = quantized_softmax(values, **encodings, arithmetic=group.arithmetic)
    return result if axis == rank - 1 else R.permute_dims(emit(result), swapped)


_SUM = "relax.add"

_ROWS = "relax.nn.conv1d"

_RELU = "relax.nn.relu"

_ACTIVATIONS = {_RELU: (0.0, math.inf), "relax.nn.relu6": (0.0, 6.0), "relax.clip": None}
"""By operator, the lowest and the highest real number; None if the call's arguments state them."""


def _ends(call: relax.Call) -> tuple[float, float]:
    """Return the lowest and the highest real number of an activation."""
    return _ACTIVATIONS[operator_name(call)] or (number(call.args[1]), number(call.args[2]))


@rule("nn.relu", "nn.relu6", "clip", arithmetics=[XNNPACK])
def _ended(group: Group, call: relax.Call) -> relax.Expr:
    activation, ends = operator_name(call), _ends(call)
    # The operators that may end in such an activation.
    enders = {*group.runtime.biased, *([_SUM] if activation == _RELU else [])}
    bounds = _within(group.bounds, (_steps(group, ends[0]), _steps(group, ends[1])))
    inner = group.value(call.args[0])
    if operator_of(inner) is dequantize:
        return _of_integers(group, call.args[0], bounds, ends)
    name = operator_name(inner)
    if name not in enders or (name == _SUM and not _may_end(group, inner, enders, ends)):
        raise LeftInFloatError(f"XNNPACK does not end {name or 'this'} in an activation")
    return group.bounded(bounds).folded(call.args[0])


def _may_end(group: Group, call: relax.Call, enders: set[str], ends: tuple[float, float]) -> bool:
    """Tell whether an addition adds a bias, or may end in relu."""
    operands = [operator_name(group.value(operand)) for operand in call.args]
    return ends[1] == math.inf or any(name in enders for name in operands)


def _steps(group: Group, real: float) -> int:
    """Return the integer of a real number; the zero point is added before rounding."""
    scale, zero_point, dtype = group.encoding
    low, high = dtype_range(dtype)
    if math.isinf(real):
        return high if real > 0 else low
    steps = np.rint(np.float32(real) / np.float32(scale) + np.float32(zero_point))
    return int(min(max(float(steps), low), high))


def _of_integers(
    group: Group, expr: relax.Expr, bounds: tuple[int, int], ends: tuple[float, float]
) -> relax.Expr:
    data = group.activation(expr)
    quantized = group.value(expr).args[0]
    is_own = group.uses.get(quantized, 0) == 1
    if data.encoding != group.encoding:
        may_merge = is_own and group.uses.get(expr, 0) == 1 and group.may_merge
        merged = _merged(group.bounded(bounds), quantized) if may_merge else None
        if merged is not None:
            return merged
        table = clamp_table(data.encoding, group.encoding, ends)
        return quantized_lookup(data.data, as_const(table))
    made = group.builder.lookup_binding(data.data) if isinstance(data.data, relax.Var) else None
    operator = operator_of(made)
    if operator is not None and operator.traits.clamps and is_own:
        return _clamped(made, bounds)
    low, high = (relax.const(np.asarray(bound, data.dtype)) for bound in bounds)
    return R.minimum(R.maximum(data.data, low), high)


def _merged(group: Group, quantized: relax.Expr) -> relax.Expr | None:
    """Return a product that ends in an activation after its own quantize.

    The delegate merges both: the value between them is not rounded.

    Raises:
        NoRuleError: the delegate merges an activation with a maximum or with another activation.
    """
    value = group.value(quantized)
    if operator_of(value) is not quantize:
        return None
    inner = group.value(value.args[0])
    while operator_name(inner) in _ACTIVATIONS:
        inner = group.value(inner.args[0])
        if operator_of(inner) is dequantize:
            raise NoRuleError("an activation of another scale after an activation")
    name = operator_name(inner)
    if name == "relax.nn.max_pool2d":
        raise NoRuleError("an activation of another scale after a maximum")
    parts = [inner, *map(group.value, inner.args)] if name == _SUM else [inner]
    names = {operator_name(part) for part in parts} - {_ROWS}  # conv1d moves an axis in between
    if names.isdisjoint(group.runtime.biased):
        return None
    try:
        return group.folded(value.args[0])
    except LeftInFloatError:
        return None


def _within(inner: tuple[int, int] | None, outer: tuple[int, int]) -> tuple[int, int]:
    """Return the bounds of a value that is clipped to ``outer``, then to ``inner``."""
    if inner is None:
        return outer
    low, high = (min(max(end, inner[0]), inner[1]) for end in outer)
    return low, high


def _clamped(call: relax.Call, bounds: tuple[int, int]) -> relax.Expr:
    """Return a call with narrower bounds of its result."""
    low, high = _within(bounds, bounds_of(attrs_of(call), spec_of(call).dtype))
    return with_attrs(call, out_min=low, out_max=high)
