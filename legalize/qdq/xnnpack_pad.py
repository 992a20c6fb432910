"""Pads of what is quantized afterwards: their values are quantized first, which is the same."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.group import Group, rule
from qnn_ops import dequantize, quantize, quantized_pad
from qnn_ops.registry import operator_of
from qnn_ops.xnnpack import XNNPACK, quantize_xnnpack


@rule("nn.pad", arithmetics=[XNNPACK])
def _pad(group: Group, call: relax.Call) -> relax.Expr:
    data = _integers(group, call.args[0])
    if str(call.attrs.pad_mode) != "constant":
        return relax.Call(call.op, [data], call.attrs, call.ty_args)
    value = quantize_xnnpack(float(call.attrs.pad_value), *group.encoding)
    return quantized_pad(data, [int(size) for size in call.attrs.pad_width], int(value))


def _integers(group: Group, expr: relax.Expr) -> relax.Expr:
    if operator_of(group.value(expr)) is dequantize:
        operand = group.quantized(expr)
        if operand.encoding == group.encoding:
            return operand.data
    call = quantize(group.renewed(expr), *group.encoding, arithmetic=XNNPACK)
    return group.builder.emit(call)
