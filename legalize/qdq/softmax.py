"""Softmax: QLinearSoftmax."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.group import ORT, Group, NoRuleError, rule
from qnn_ops import quantized_softmax
from qnn_ops.registry import spec_of


@rule("nn.softmax")
def _softmax(group: Group, call: relax.Call) -> relax.Expr:
    data = group.activation(call.args[0])
    rank = len(spec_of(data.data).shape)
    if int(call.attrs.axis) % rank != rank - 1:
        raise NoRuleError("a softmax must be along the last axis")
    return quantized_softmax(data.data, **data.input, **group.result(), **ORT)
