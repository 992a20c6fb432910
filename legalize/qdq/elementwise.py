"""Sums and products of two tensors: QLinearAdd and QLinearMul; and sums with a bias."""

from __future__ import annotations

from typing import Any

from tvm import relax

from legalize.qdq.group import BIASED, ORT, Group, LeftInFloatError, operator_name, rule
from qnn_ops import quantized_add, quantized_multiply


@rule("add")
def _add(group: Group, call: relax.Call) -> relax.Expr:
    for expr, other in (call.args, reversed(call.args)):
        value = group.value(expr)
        if operator_name(value) in BIASED:
            if group.uses.get(expr, 0) > 1:
                raise LeftInFloatError(f"the result of {operator_name(value)} has other readers")
            return BIASED[operator_name(value)](group, value, other)
    return _pair(group, call, quantized_add)


@rule("multiply")
def _multiply(group: Group, call: relax.Call) -> relax.Expr:
    return _pair(group, call, quantized_multiply)


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
