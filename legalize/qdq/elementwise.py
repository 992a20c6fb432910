"""Sums, differences and products of two tensors: QLinearAdd, QLinearMul and XNNPACK's."""

from __future__ import annotations

from typing import Any

from tvm import relax

from legalize.qdq.group import (
    RUNTIMES,
    Group,
    LeftInFloatError,
    NoRuleError,
    operator_name,
    rule,
)
from qnn_ops import quantized_add, quantized_concat, quantized_multiply, quantized_subtract
from qnn_ops.xnnpack import XNNPACK


@rule("add", arithmetics=tuple(RUNTIMES))
def _add(group: Group, call: relax.Call) -> relax.Expr:
    biased = with_bias(group, call)
    return of_pair(group, call, quantized_add) if biased is None else biased


@rule("subtract", arithmetics=[XNNPACK])
def _subtract(group: Group, call: relax.Call) -> relax.Expr:
    return of_pair(group, call, quantized_subtract)


@rule("multiply", arithmetics=tuple(RUNTIMES))
def _multiply(group: Group, call: relax.Call) -> relax.Expr:
    return of_pair(group, call, quantized_multiply)


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
        lhs_scale=lhs.scale,
        lhs_zero_point=lhs.zero_point,
        rhs_scale=rhs.scale,
        rhs_zero_point=rhs.zero_point,
        **group.result(),
        arithmetic=group.arithmetic,
    )
    return result


@rule("concat", arithmetics=[XNNPACK])
def _concat(group: Group, call: relax.Call) -> relax.Expr:
    inputs = group.value(call.args[0])
    if not isinstance(inputs, relax.Tuple):
        raise NoRuleError("what is joined must be listed")
    operands = [group.activation(field) for field in inputs.fields]
    if any(operand.encoding != group.encoding for operand in operands):
        raise NoRuleError("XNNPACK joins tensors of one scale and zero point")
    return quantized_concat(
        [operand.data for operand in operands],
        [operand.encoding[0] for operand in operands],
        [operand.encoding[1] for operand in operands],
        **group.result(),
        axis=int(call.attrs.axis),
    )
