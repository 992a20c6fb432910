"""Activations: those that quantizing does by itself, and tables of the others."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax

from legalize.qdq.group import Group, LeftInFloatError, operator_name, rule
from qnn_ops import quantized_lookup
from qnn_ops.attributes import dtype_range
from qnn_ops.onnxruntime import quantize_onnxruntime, sigmoid_onnxruntime, tanh_onnxruntime


@rule("nn.relu")
def _relu(group: Group, call: relax.Call) -> relax.Expr:
    if group.attrs.zero_point != group.lowest:
        raise LeftInFloatError(
            "the output's zero point is not its lowest value, so ONNX Runtime computes Relu in "
            "float"
        )
    return group.folded(call.args[0])


@rule("clip")
def _clip(group: Group, call: relax.Call) -> relax.Expr:
    scale, zero_point, dtype = group.encoding
    low, high = (
        np.rint(np.float32(number(end)) / np.float32(scale)) + zero_point for end in call.args[1:]
    )
    lowest, highest = dtype_range(dtype)
    if low > lowest or high < highest:
        raise LeftInFloatError(
            "the output's range is wider than Clip's, so ONNX Runtime computes Clip in float"
        )
    return group.folded(call.args[0])


@rule("sigmoid", "tanh")
def _tabulated(group: Group, call: relax.Call) -> relax.Expr:
    data = group.activation(call.args[0])
    scale, zero_point, _ = data.encoding
    tabulate = sigmoid_onnxruntime if operator_name(call) == "relax.sigmoid" else tanh_onnxruntime
    table = tabulate(scale, zero_point, *group.encoding)
    return quantized_lookup(data.data, relax.const(table, str(table.dtype)))


@rule("nn.leakyrelu")
def _leaky_relu(group: Group, call: relax.Call) -> relax.Expr:
    data = group.activation(call.args[0])
    scale, zero_point, dtype = data.encoding
    low, high = dtype_range(dtype)
    reals = np.float32(scale) * (np.arange(low, high + 1) - zero_point).astype(np.float32)
    slope = np.float32(call.attrs.alpha)
    table = quantize_onnxruntime(np.where(reals >= 0, reals, slope * reals), *group.encoding)
    return quantized_lookup(data.data, relax.const(table, str(table.dtype)))


def number(value: relax.Expr) -> float:
    """Return the number that is an argument of ``R.clip``."""
    number = getattr(value, "value", value)
    if isinstance(number, tvm.tirx.FloatImm | tvm.tirx.IntImm):
        number = number.value
    return float(number)
