"""What only moves values about: it does so with the integers."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.group import MOVEMENTS, RULES, Group, LeftInFloatError, operator_name
from qnn_ops import dequantize
from qnn_ops.registry import operator_of


def _moved(group: Group, call: relax.Call) -> relax.Expr:
    inner = group.value(call.args[0])
    if operator_of(inner) is dequantize or operator_name(inner) in MOVEMENTS:
        operand = group.quantized(call.args[0])
        if (operand.scale, operand.zero_point, operand.dtype) != group.encoding:
            raise LeftInFloatError("what is moved has another scale or zero point afterwards")
        data = operand.data
    else:
        data = group.builder.emit(group.folded(call.args[0]))
    return relax.Call(call.op, [data, *call.args[1:]], call.attrs, call.ty_args)


RULES.update(dict.fromkeys(MOVEMENTS, _moved))
