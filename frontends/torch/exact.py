"""Functions of float32 that the delegate or TVM computes differently from PyTorch."""

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.torch.call import Call, Rule
from frontends.torch.parts import CLAMP, CLAMPING, EXTREMES, clamp, extreme
from frontends.torch.reader import operator_of
from qnn_ops.dialect.registry import spec_of

_PAIRS = ("maximum.default", "minimum.default", "max.other", "min.other")


def _gelu(call: Call) -> relax.Expr:
    data, approximate = call.values
    return (R.nn.gelu_tanh if approximate == "tanh" else R.nn.gelu)(call.expr(data))


def _bounded(call: Call) -> Any:
    """Bound numbers; NaN stays NaN."""
    result = clamp(call) if operator_of(call.node) == CLAMP else call.by_tvm()
    for data in map(call.expr, call.node.all_input_nodes):
        if spec_of(data).dtype == spec_of(result).dtype == "float32":
            result = call.emit(R.where(call.emit(R.isnan(data)), data, result))
    return result


def _extreme(call: Call) -> relax.Expr:
    """Reduce by a maximum or a minimum; one NaN makes the result NaN."""
    result, emit = call.emit(extreme(call)), call.emit
    data, axes, keeps = call.values
    tensor = call.expr(data)
    if spec_of(tensor).dtype != "float32":
        return result
    odd = emit(R.astype(emit(R.isnan(tensor)), "float32"))
    count = emit(R.max(odd, [int(axis) for axis in axes] or None, keepdims=bool(keeps)))
    is_odd = emit(R.greater(count, relax.const(0.0, "float32")))
    return R.where(is_odd, relax.const(float("nan"), "float32"), result)


EXACT: dict[str, Rule] = {
    "gelu.default": _gelu,
    CLAMP: _bounded,
    **dict.fromkeys((*CLAMPING, *_PAIRS), _bounded),
    **dict.fromkeys(EXTREMES, _extreme),
}
"""The rules by the names of operators."""
