"""Softmax: QLinearSoftmax, along any axis."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.qdq.group import ORT, Group, rule
from qnn_ops import quantized_softmax
from qnn_ops.registry import spec_of


@rule("nn.softmax")
def _softmax(group: Group, call: relax.Call) -> relax.Expr:
    data = group.activation(call.args[0])
    rank, emit = len(spec_of(data.data).shape), group.builder.emit
    axis = int(call.attrs.axis) % rank
    swapped = list(range(rank))
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    values = data.data if axis == rank - 1 else emit(R.permute_dims(data.data, swapped))
    result = quantized_softmax(values, **data.input, **group.result(), **ORT)
    return result if axis == rank - 1 else R.permute_dims(emit(result), swapped)
