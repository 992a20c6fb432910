"""Products of quantized matrices with float results: ONNX Runtime's, as nodes of the standard."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.identities import is_clip_before_quantize
from frontends.onnx.normalizations import operands_of
from frontends.onnx.package import onnx_package

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups


_OF_LSTM = 12
"""Operands of a DynamicQuantizeLSTM, the last of them scales and zero points."""
_OF_MATRIX = 2


def matmul_integer_to_float(
    groups: Groups, node: Any, inputs: list[str], _attributes: dict[str, Any]
) -> None:
    """Write MatMulIntegerToFloat."""
    a, b, sa, sb, za, zb, bias = (*inputs, "", "", "")[:7]
    product(groups, node.output[0], [a, b, za, zb], (sa, sb), bias)


def dynamic_quantize_matmul(
    groups: Groups, node: Any, inputs: list[str], _attributes: dict[str, Any]
) -> None:
    """Write DynamicQuantizeMatMul."""
    a, b, sb, zb, bias = (*inputs, "", "")[:5]
    names = [f"{groups.prefix}{node.output[0]}_{part}" for part in ("bytes", "scale", "point")]
    make = onnx_package().helper.make_node
    groups.nodes.append(make("DynamicQuantizeLinear", [a], names))
    product(groups, node.output[0], [names[0], b, names[2], zb], (names[1], sb), bias)


def dynamic_quantize_lstm(
    groups: Groups, node: Any, inputs: list[str], attributes: dict[str, Any]
) -> None:
    """Write DynamicQuantizeLSTM: an LSTM that has also the encodings of its weights."""
    operands = [*inputs[:_OF_LSTM], *[""] * (_OF_LSTM - len(inputs))]
    make = onnx_package().helper.make_node
    groups.nodes.append(make("LSTM", operands, list(node.output), **attributes))


def product(
    groups: Groups, output: str, operands: list[str], scales: tuple[str, str], bias: str
) -> None:
    """Add integer sums, their product with both scales, and the sum with the bias.

    Args:
        groups: of the model.
        output: the name of the result.
        operands: data, weights, and their zero points, empty for none.
        scales: of data and of weights.
        bias: empty for none.
    """

    def name(part: str) -> str:
        return f"{groups.prefix}{output}_{part}"

    while not operands[-1]:
        operands.pop()
    sums = groups.node("MatMulInteger", operands, name("sums"))
    real = groups.node("Cast", [sums], name("real"), to=onnx_package().TensorProto.FLOAT)
    if _is_scaled_last(groups, operands[1], scales[1]):
        of_data = groups.node("Mul", [real, scales[0]], name("product"))
        biased = groups.node("Add", [of_data, bias], name("biased")) if bias else of_data
        groups.node("Mul", [biased, scales[1]], output)
        return
    scale = groups.node("Mul", list(scales), name("factor"))
    scaled = groups.node("Mul", [real, scale], name("product") if bias else output)
    if bias:
        groups.node("Add", [scaled, bias], output)


def _is_scaled_last(groups: Groups, weights: str, scale: str) -> bool:
    """Tell whether scales of columns come after the bias, as ONNX Runtime has it of matrices.

    Its kernel takes scales of the axes that the weights have. Others it multiplies its result by.
    """
    try:
        sizes = groups.shape(scale)
    except UnsupportedError:  # as of one that the run tells
        return False
    return len(sizes) == 1 and sizes[0] > 1 and groups.rank(weights) > _OF_MATRIX


Array = np.ndarray[Any, Any]

_OF_DATA = 3
"""The operands of a DequantizeLinear with a zero point."""


def with_scaled_data(
    nodes: list[Any], constants: Mapping[str, Array], attributes_of: Any, prefix: str
) -> tuple[list[Any], dict[str, Array]]:
    """Multiply scales of bytes by the ``alpha`` of a Gemm that has no bias, as QGemm does.

    With a bias ONNX Runtime computes it in float.

    Args:
        nodes: of a model; those of a Gemm are changed.
        constants: of it, by name.
        attributes_of: gives a node's attributes.
        prefix: of names that no tensor has.

    Returns:
        The nodes, and constants that are new.
    """
    made = {name: node for node in nodes for name in node.output}
    written: list[Any] = []
    added: dict[str, Array] = {}
    for node in nodes:
        if node.op_type == "Gemm" and node.domain in ("", "ai.onnx") and not any(node.input[2:]):
            source = made.get(node.input[0])
            alpha = np.float32(attributes_of(node).get("alpha", 1.0))
            if alpha != 1 and source is not None and _is_of_bytes(source, constants):
                scale, data = (f"{prefix}{node.output[0]}_{part}" for part in ("scale", "scaled"))
                added[scale] = np.asarray(alpha * constants[source.input[1]], np.float32)
                operands = [source.input[0], scale, source.input[2]]
                made_now = onnx_package().helper.make_node("DequantizeLinear", operands, [data])
                written.append(made_now)
                node.input[0] = data
                _without(node, "alpha")
            _without(node, "beta")
        written.append(node)
    return written, added


def _is_of_bytes(source: Any, constants: Mapping[str, Array]) -> bool:
    if source.op_type != "DequantizeLinear" or len(source.input) != _OF_DATA:
        return False
    scale, point = (constants.get(name) for name in source.input[1:])
    if scale is None or point is None or scale.size != 1:
        return False
    return point.dtype.itemsize == 1 and scale.dtype == np.float32


def _without(node: Any, name: str) -> None:
    """Leave out an attribute."""
    kept = [each for each in node.attribute if each.name != name]
    copies = [type(each).FromString(each.SerializeToString()) for each in kept]
    del node.attribute[:]
    node.attribute.extend(copies)


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


_DATA = {"int8": ("int8",), "uint8": ("int8", "uint8")}
"""The dtypes of weights beside those of data."""

_CONSTANTS = 4
"""Scale and zero point of data, and those of weights."""


def with_float_products(
    nodes: list[Any], constants: Mapping[str, Array], attributes_of: Any, kept: Container[str]
) -> list[Any]:
    """Write products that nothing quantizes as QGemm, as ONNX Runtime does.

    Args:
        nodes: of a model.
        constants: of it, by name.
        attributes_of: gives a node's attributes.
        kept: the model's outputs.
    """
    made = {name: node for node in nodes for name in node.output}
    readers: dict[str, list[Any]] = {}
    for node in nodes:
        for name in node.input:
            readers.setdefault(name, []).append(node)

    def product(node: Any) -> Any:
        if node.op_type not in ("Gemm", "MatMul") or node.domain not in ("", "ai.onnx"):
            return node
        later = {each.op_type for each in readers.get(node.output[0], ())}
        if "QuantizeLinear" in later or (node.op_type == "MatMul" and "Add" in later):
            return node
        if is_clip_before_quantize(node.output[0], readers, kept):
            return node
        sources: list[Any] = [made.get(name) for name in node.input if name]
        if any(each is None or each.op_type != "DequantizeLinear" for each in sources):
            return node
        if any(len(each.input) < 2 for each in sources):  # of a domain that is not checked
            return node
        attributes = attributes_of(node)
        if any(attributes.get(name, 1.0) != 1 for name in ("alpha", "beta")):
            return node
        units_axis = 0 if attributes.get("transB", 0) else 1
        operands = _operands(sources, units_axis, constants, attributes_of)
        if operands is None:
            return node
        return onnx_package().helper.make_node(
            "QGemm",
            operands,
            [node.output[0]],
            domain="com.microsoft",
            transA=int(attributes.get("transA", 0)),
            transB=int(attributes.get("transB", 0)),
        )

    return [product(node) for node in nodes]


def _operands(
    sources: list[Any], units_axis: int, constants: Mapping[str, Array], attributes_of: Any
) -> list[str] | None:
    """Return what QGemm reads, or None where it does not read it so."""
    data, weights, *bias = sources
    named = [constants.get(name) for each in (data, weights) for name in each.input[1:]]
    known = [each for each in named if each is not None]
    array = constants.get(weights.input[0])
    if len(known) != len(named) or len(known) != _CONSTANTS or array is None:
        return None
    scale, point, steps, _ = known
    if array.ndim != 2 or scale.size != 1:
        return None
    if array.dtype.name not in _DATA.get(point.dtype.name, ()):
        return None
    axis = int(attributes_of(weights).get("axis", 1)) % 2
    if steps.size != 1 and (axis != units_axis or steps.size != array.shape[units_axis]):
        return None
    operands = [*data.input, *weights.input]
    if bias:
        values = constants.get(bias[0].input[0])
        if values is None or values.dtype != np.int32:
            return None
        operands.append(bias[0].input[0])
    return operands
