"""Functions of float32, as PyTorch computes them and as XNNPACK does."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.call import CHECKS, OWN, Call, Rule
from frontends.torch.parts import CLAMP, CLAMPING, EXTREMES, clamp, extreme
from frontends.torch.reader import is_call, operator_of, values_of
from qnn_ops import fused_multiply_add
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of

BATCH_NORM = "batch_norm.default"


@OWN.of(BATCH_NORM)
def batch_norm(call: Call) -> relax.Expr:
    """Normalize by the stored statistics: TVM's importer uses the batch's statistics."""
    data, weight, bias, mean, variance, _, _, epsilon, _ = call.values
    data, mean, variance = map(call.expr, (data, mean, variance))
    channels = spec_of(mean).shape
    gamma, beta = (
        relax.const(np.full(channels, number, np.float32)) if part is None else call.expr(part)
        for part, number in ((weight, 1), (bias, 0))
    )
    options = {"axis": 1, "epsilon": float(epsilon), "training": False}
    made = R.nn.batch_norm(data, gamma, beta, mean, variance, **options)
    return relax.TupleGetItem(call.emit(made), 0)


@CHECKS.of(BATCH_NORM)
def check_batch_norm(node: Any) -> None:
    """Raise unless a normalization uses stored statistics."""
    values = values_of(node)
    if values[5] or None in values[3:5]:
        raise UnsupportedError("it is in training mode: call eval() before torch.export.export")


_PAIRS = ("maximum.default", "minimum.default", "max.other", "min.other")


def _exact_gelu(call: Call) -> relax.Expr:
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
    "gelu.default": _exact_gelu,
    CLAMP: _bounded,
    **dict.fromkeys((*CLAMPING, *_PAIRS), _bounded),
    **dict.fromkeys(EXTREMES, _extreme),
}
"""The rules of PyTorch's functions that TVM computes differently, by the names of operators."""


_CONVOLVED, _CHANNELS = (3, 4), 2
"""The ranks of data that ExecuTorch normalizes by a convolution, and the axes before the pixels."""

_BOUNDED = (
    *("conv1d.default", "conv1d.padding", "conv2d.default", "conv2d.padding"),
    *("conv_transpose2d.input", "convolution.default", "linear.default", "addmm.default"),
    *("add.Tensor", "add_.Tensor", "sub.Tensor", "sub_.Tensor", "mul.Tensor", "mul_.Tensor"),
    BATCH_NORM,
)
"""The operators into which ExecuTorch's FuseActivationPass fuses an activation."""

_SIXTH, _HALF = np.float32(1 / 6), np.float32(0.5)


def hardswish(call: Call) -> relax.Expr:
    """Compute x · min(max(fma(x, 1/6, 1/2), 0), 1)."""
    data = call.expr(call.node.args[0])
    factor, addend = (relax.const(value, "float32") for value in (_SIXTH, _HALF))
    gate = call.emit(R.clip(call.emit(fused_multiply_add(data, factor, addend)), 0.0, 1.0))
    return R.multiply(data, gate)


def bound(call: Call) -> Any:
    """Bound values, unless the next bound replaces this one.

    ExecuTorch keeps one pair of bounds with an operator, and each following activation overwrites
    it: after a ReLU and a Hardtanh only the Hardtanh remains.
    """
    return call.expr(call.node.args[0]) if _is_overwritten(call.node) else call.by_tvm()


def _is_overwritten(node: Any) -> bool:
    (reader, *others) = node.users
    if others or not is_call(reader, *CLAMPING):
        return False
    while is_call(node, *CLAMPING) and len(node.args[0].users) == 1:
        node = node.args[0]
    return is_call(node, *_BOUNDED)


def gelu(call: Call) -> relax.Expr:
    """Compute GELU by erf: ExecuTorch does not pass ``approximate`` to the delegate."""
    return R.nn.gelu(call.expr(call.node.args[0]))


def normalize(call: Call) -> relax.Expr:
    """Normalize by stored statistics, with one factor and one addend for each channel."""
    data = call.expr(call.node.args[0])
    rank = len(spec_of(data).shape)
    if rank not in _CONVOLVED:
        return batch_norm(call)
    shape, terms = (-1, *[1] * (rank - _CHANNELS)), _terms(call.node, call.constants)
    factor, addend = (relax.const(each.reshape(shape), "float32") for each in terms)
    return fused_multiply_add(data, factor, addend)


DELEGATED: dict[str, Rule] = {
    BATCH_NORM: normalize,
    **dict.fromkeys(CLAMPING, bound),
    "gelu.default": gelu,
    **dict.fromkeys(("hardswish.default", "hardswish_.default"), hardswish),
}
"""The rules of functions that XNNPACK computes differently, by the names of operators."""


def _terms(node: Any, constants: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the factors and addends of a normalization, computed in float64."""
    _, weight, bias, mean, variance, _, _, epsilon, _ = values_of(node)
    gamma, beta = (
        other if part is None else constants[part.name].astype(np.float64)
        for part, other in ((weight, 1.0), (bias, 0.0))
    )
    centre = constants[mean.name].astype(np.float64)
    spread = np.sqrt(constants[variance.name].astype(np.float64) + np.float32(epsilon))
    factor, addend = gamma / spread, -centre * gamma / spread + beta
    return factor.astype(np.float32), addend.astype(np.float32)
