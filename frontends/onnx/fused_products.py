"""Float products that ONNX Runtime has fused with what stands around them, in files it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.normalizations import operands_of
from frontends.onnx.package import onnx_package

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_ACTIVATIONS = {
    **dict.fromkeys(("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"), ()),
    **dict.fromkeys(("Elu", "LeakyRelu", "ThresholdedRelu"), ("alpha",)),
    "HardSigmoid": ("alpha", "beta"),
}
"""By name, the attributes that they have."""

_OF_MATRICES = 2


def fused_matmul(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a MatMul of matrices that may be transposed, times a number."""
    names = operands_of(inputs, 2, 2)
    if attrs.get("transBatchA", 0) or attrs.get("transBatchB", 0):
        raise UnsupportedError("transposed batches are not imported")
    stem, operands = f"{groups.prefix}{node.output[0]}", []
    for name, side in zip(names, "AB", strict=True):
        is_turned = attrs.get(f"trans{side}", 0)
        operands.append(_turned(groups, name, f"{stem}_{side}") if is_turned else name)
    product = groups.node("MatMul", operands, f"{stem}_product")
    real = _kept_apart(groups, product, f"{stem}_real")
    factor = groups.constant(np.array(attrs.get("alpha", 1.0), np.float32))
    groups.node("Mul", [real, factor], node.output[0])


def fused_gemm(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a Gemm and the activation of its result."""
    operands = operands_of(inputs, 2, 3)
    activation = attrs.pop("activation", b"").decode()
    if activation not in _ACTIVATIONS:
        raise UnsupportedError(f"the activation {activation!r} is not imported")
    own = {key: attrs.pop(f"activation_{key}", None) for key in ("alpha", "beta", "gamma")}
    stem, kept = f"{groups.prefix}{node.output[0]}", [name for name in operands if name]
    product = groups.node("Gemm", kept, f"{stem}_product", **attrs)
    real = _kept_apart(groups, product, f"{stem}_real")
    stated = {key: own[key] for key in _ACTIVATIONS[activation] if own[key] is not None}
    groups.node(activation, [real], node.output[0], **stated)


def fused_conv(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a Conv, perhaps what is added to it, and the activation of both."""
    *operands, addend = operands_of(inputs, 2, 4)
    activation = attrs.pop("activation", b"").decode()
    given = [float(each) for each in attrs.pop("activation_params", [])]
    names = ("min", "max") if activation == "Clip" else _ACTIVATIONS.get(activation)
    if names is None or len(given) not in (0, len(names)):
        text = f"the activation {activation!r} with {len(given)} parameters is not imported"
        raise UnsupportedError(text)
    stem, kept = f"{groups.prefix}{node.output[0]}", [name for name in operands if name]
    product = groups.node("Conv", kept, f"{stem}_product", **attrs)
    real = _kept_apart(groups, product, f"{stem}_real")
    if addend:
        real = groups.node("Add", [real, addend], f"{stem}_sum")
    if activation == "Clip":
        bounds = [groups.constant(np.array(each, np.float32)) for each in given]
        groups.node("Clip", [real, *bounds], node.output[0])
    else:
        groups.node(activation, [real], node.output[0], **dict(zip(names, given, strict=False)))


def _turned(groups: Groups, name: str, output: str) -> str:
    rank = groups.rank(name)
    if rank < _OF_MATRICES:
        raise UnsupportedError("of a matrix that is transposed the rank must be known")
    order = [*range(rank - 2), rank - 1, rank - 2]
    return groups.node("Transpose", [name], output, perm=order)


def _kept_apart(groups: Groups, name: str, output: str) -> str:
    """Add a Cast that changes nothing, over which no group reaches: ONNX Runtime's ends here."""
    return groups.node("Cast", [name], output, to=onnx_package().TensorProto.FLOAT)
