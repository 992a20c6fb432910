"""Functions of float32 that XNNPACK computes differently from PyTorch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.torch.call import Call, Rule
from frontends.torch.normalize import BATCH_NORM, batch_norm
from frontends.torch.parts import CLAMPING
from frontends.torch.reader import is_call, values_of
from qnn_ops import fused_multiply_add
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of

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
"""The rules of these functions, by the names of their nodes' operators."""


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
