"""Sums and products of two tensors: QLinearAdd and QLinearMul; and sums with a bias."""

from __future__ import annotations

from typing import Any

from tvm import relax

from legalize.qdq.group import BIASED, ORT, Group, LeftInFloatError, operator_name, rule
from qnn_ops import quantized_add, quantized_multiply


@rule("add")
def _add(group: Group, call: relax.Call) -> relax.Expr:
    biased = with_bias(group, call)
    return of_pair(group, call, quantized_add, **ORT) if biased is None else biased


@rule("multiply")
def _multiply(group: Group, call: relax.Call) -> relax.Expr:
    return of_pair(group, call, quantized_multiply, **ORT)


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


def of_pair(group: Group, call: relax.Call, operator: Any, **arithmetic: str) -> relax.Expr:
    """Return the call of a dialect's operator of two tensors.

    Args:
        group: which it stands for.
        call: the group's float operator.
        operator: the dialect's.
        arithmetic: its attribute of that name.

    Raises:
        NoRuleError, LeftInFloatError: as ``Group.activation`` does.
    """
    lhs, rhs = (group.activation(operand) for operand in call.args)
    result: relax.Expr = operator(
        lhs.data,
        rhs.data,
        lhs_scale=lhs.scale,
        lhs_zero_point=lhs.zero_point,
        rhs_scale=rhs.scale,
        rhs_zero_point=rhs.zero_point,
        **group.result(),
        **arithmetic,
    )
    return result
