"""XNNPACK's sums, differences and products, and concatenations of tensors of one encoding."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.elementwise import of_pair, with_bias
from legalize.qdq.group import Group, NoRuleError, rule
from qnn_ops import quantized_add, quantized_concat, quantized_multiply, quantized_subtract
from qnn_ops.xnnpack import XNNPACK


@rule("add", arithmetics=[XNNPACK])
def _add(group: Group, call: relax.Call) -> relax.Expr:
    biased = with_bias(group, call)
    return of_pair(group, call, quantized_add, arithmetic=XNNPACK) if biased is None else biased


@rule("subtract", arithmetics=[XNNPACK])
def _subtract(group: Group, call: relax.Call) -> relax.Expr:
    return of_pair(group, call, quantized_subtract, arithmetic=XNNPACK)


@rule("multiply", arithmetics=[XNNPACK])
def _multiply(group: Group, call: relax.Call) -> relax.Expr:
    return of_pair(group, call, quantized_multiply, arithmetic=XNNPACK)


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
