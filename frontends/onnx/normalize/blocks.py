"""Finds averages of images that ONNX Runtime computes in its layout of blocks of channels."""

from math import prod
from typing import Any

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import attributes_of, is_of_standard, state
from qnn_ops.unquantized.float_conv2d import BLOCK, is_laid_out

_OF_IMAGES = 4
"""The number of axes of images, and of the weights of their convolutions."""
_SUM, _RELU, _OTHER = "sum", "relu", "other"
"""What makes a tensor in blocks: a convolution, also with a bias or scales that ONNX Runtime joins
with it; such a convolution and a Relu; or another operator."""


def state_averages(graph: Graph) -> None:
    """Give averages of data in blocks the attribute ``order``, "blocks".

    With AVX512, ONNX Runtime lays out images of float convolutions and pools in blocks of 16
    channels. Operators that follow keep this layout, if they can. In blocks it adds up the pixels
    one after the other, otherwise in another order. Source of the rules: its NchwcTransformer, and
    the fusions before that.
    """
    inputs = {value.name for value in graph.index().input}
    found: dict[str, str] = {}
    for node in graph.node:
        if not node.input or graph.dtype(node.input[0]) != "float32":
            continue
        if node.output[0] in graph.parted:
            inputs.add(node.output[0])  # of an inner graph
            continue
        if (data := _returned(graph, node)) is not None:
            made = found.get(data) if graph.uses[data] == 1 else found.get(data) and _OTHER
            inputs.update(node.output if data in inputs and node.op_type == "Cast" else ())
        elif not is_of_standard(node, *_RULES, *_GLOBAL):
            continue
        elif node.op_type in _GLOBAL:
            is_readable = node.input[0] in found or node.input[0] in inputs
            made = _pool(graph, found, node) if is_readable else None
        else:
            made = _RULES[node.op_type](graph, found, node)
        if made is not None:
            found[node.output[0]] = made
            if node.op_type.endswith("AveragePool"):
                state(node, "order", "blocks")


def _returned(graph: Graph, node: Any) -> str | None:
    """Return the operand that a node returns unchanged; None if there is none.

    ONNX Runtime leaves out these nodes, but not arithmetic on an input.
    """
    one, other = (*node.input, "")[:2]
    if is_of_standard(node, "Cast") and graph.dtype(node.output[0]) == "float32":
        return one
    if not is_of_standard(node, *_NEUTRAL):
        return None
    sides = [(one, other), (other, one)] if node.op_type in ("Add", "Mul") else [(one, other)]
    number = _NEUTRAL[node.op_type]
    found = (data for data, constant in sides if _is_number(graph, constant, number))
    return next(found, None)


def _is_number(graph: Graph, name: str, number: int) -> bool:
    if name not in graph.constants or prod(graph.constants.shape(name)) != 1:
        return False
    return bool(graph.constants[name].item() == number)


def _convolution(graph: Graph, _: dict[str, str], node: Any) -> str | None:
    stated = attributes_of(node)
    if "order" in stated or not _are_constants(graph, node):
        return None
    units, inputs, *window = graph.constants.shape(node.input[1])
    groups = int(stated.get("group", 1))
    is_whole = len(window) == _OF_IMAGES - 2 and units % BLOCK == 0
    return _SUM if is_whole and is_laid_out(groups, inputs, units) else None


def _pool(graph: Graph, _: dict[str, str], node: Any) -> str | None:
    shape = graph.known_shape(node.input[0]) or ()
    is_whole = len(shape) == _OF_IMAGES and shape[1] % BLOCK == 0
    return _OTHER if is_whole and len(node.output) == 1 else None


def _activation(graph: Graph, found: dict[str, str], node: Any) -> str | None:
    before = found.get(node.input[0])
    is_joined = node.op_type == "Relu" and before in (_SUM, _RELU) and _is_alone(graph, node)
    return _RELU if is_joined else before and _OTHER


def _end(graph: Graph, found: dict[str, str], node: Any) -> str | None:
    """Let this operator become the end of a convolution, and keep its layout.

    A Relu before a Clip becomes its lower bound.
    """
    joined = (_SUM, _RELU) if node.op_type == "Clip" else (_SUM,)
    is_end = found.get(node.input[0]) in joined and _is_alone(graph, node)
    return _OTHER if is_end and _are_constants(graph, node) else None


def _scaled(graph: Graph, found: dict[str, str], node: Any) -> str | None:
    is_found = node.input[0] in found
    return _folded(graph, found, node) or (_OTHER if is_found else None)


def _folded(graph: Graph, found: dict[str, str], node: Any) -> str | None:
    """Let this constant change the weights or the bias of a convolution, and keep its layout."""
    return _SUM if found.get(node.input[0]) == _SUM and _is_alone(graph, node) else None


def _product(graph: Graph, found: dict[str, str], node: Any) -> str | None:
    one, other = node.input
    if _is_of_channels(graph, other):
        return _scaled(graph, found, node)
    if other in graph.constants and graph.constants.shape(other) == ():
        return _folded(graph, found, node)
    if _is_of_channels(graph, one):
        return _OTHER if other in found else None
    is_whole = graph.known_shape(one) == graph.known_shape(other)
    return _joined(graph, found, node) if is_whole else None


def _total(graph: Graph, found: dict[str, str], node: Any) -> str | None:
    if node.op_type == "Add" and _is_of_channels(graph, node.input[1]):
        return _folded(graph, found, node)
    channels = {(graph.known_shape(name) or (0, 0))[1:2] for name in node.input}
    return _joined(graph, found, node) if len(channels) == 1 else None


def _joined(graph: Graph, found: dict[str, str], node: Any) -> str | None:
    is_of_others = node.op_type == "Concat" and attributes_of(node)["axis"] != 1
    return _OTHER if found.keys() >= {*node.input} and not is_of_others else None


def _is_alone(graph: Graph, node: Any) -> bool:
    """Tell whether nothing else reads a node's data."""
    return graph.uses[node.input[0]] == 1


def _are_constants(graph: Graph, node: Any) -> bool:
    """Tell whether all operands behind the data are constants."""
    return all(name in graph.constants for name in node.input[1:] if name)


def _is_of_channels(graph: Graph, name: str) -> bool:
    """Tell whether a tensor is a constant with a number for each channel."""
    shape = graph.constants.shape(name) if name in graph.constants else ()
    size = max(shape, default=1)
    return size > 1 and (1, *shape)[-_OF_IMAGES:] == (1, size, 1, 1)


_NEUTRAL = {"Add": 0, "Div": 1, "Mul": 1, "Sub": 0}
_GLOBAL = ("GlobalAveragePool", "GlobalMaxPool")
_RULES = {
    "Conv": _convolution,
    **dict.fromkeys(("AveragePool", "MaxPool"), _pool),
    **dict.fromkeys(("Gelu", "HardSigmoid", "HardSwish", "Relu", "Sigmoid", "Tanh"), _activation),
    **dict.fromkeys(("Clip", "LeakyRelu"), _end),
    "BatchNormalization": _scaled,
    "Mul": _product,
    **dict.fromkeys(("Add", "Sum"), _total),
    "Concat": _joined,
}
"""What makes a result of each operator, as above; None for a result that is not in blocks."""
