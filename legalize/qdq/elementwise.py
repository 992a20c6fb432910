"""Sums and products of two tensors: QLinearAdd and QLinearMul; and sums with a bias."""

from __future__ import annotations

from typing import Any

from tvm import relax

from legalize.qdq.group import BIASED, ORT, Group, LeftInFloatError, operator_name, rule
from qnn_ops import quantized_add, quantized_multiply


@rule("add")
def _add(group: Group, call: relax.Call) -> relax.Expr:
    biased = with_bias(group, call)
    return _pair(group, call, quantized_add) if biased is None else biased


@rule("multiply")
def _multiply(group: Group, call: relax.Call) -> relax.Expr:
    return _pair(group, call, quantized_multiply)


def with_bias(group: Group, call: relax.Call) -> relax.Expr | None:
    """Return the integers of an addition if it is that of a bias, or else None.

    Raises:
        LeftInFloatError: as ``Group.folded`` does.
    """
    for expr, other in (call.args, reversed(call.args)):
        value = group.value(expr)
        name, rules = operator_name(value), BIASED[group.arithmetic]
        if name in rules:
            if group.uses.get(expr, 0) > 1:
                raise LeftInFloatError(f"the result of {name} has other readers")
            return rules[name](group, value, other)
    return None


def _pair(group: Group, call: relax.Call, operator: Any) -> relax.Expr:
    lhs, rhs = (group.activation(operand) for operand in call.args)
    result: relax.Expr = operator(
        lhs.data,
        rhs.data,
        lhs_scale=lhs.scale,
        lhs_zero_point=lhs.zero_point,
        rhs_scale=rhs.scale,
        rhs_zero_point=rhs.zero_point,
        **group.result(),
        **ORT,
    )
    return result
