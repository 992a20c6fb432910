"""Concatenations: QLinearConcat."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.group import ORT, Group, NoRuleError, rule
from qnn_ops import quantized_concat


@rule("concat")
def _concat(group: Group, call: relax.Call) -> relax.Expr:
    inputs = group.value(call.args[0])
    if not isinstance(inputs, relax.Tuple):
        raise NoRuleError("what is joined must be listed")
    operands = [group.activation(field) for field in inputs.fields]
    return quantized_concat(
        [operand.data for operand in operands],
        [operand.encoding[0] for operand in operands],
        [operand.encoding[1] for operand in operands],
        **group.result(),
        axis=int(call.attrs.axis),
        **ORT,
    )
