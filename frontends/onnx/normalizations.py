"""ONNX Runtime's own normalizations and forms of Gelu, as nodes of the standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.package import onnx_package

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups


_SLOPE = 1.702
"""The slope of a QuickGelu that states none."""


def gelu(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a Gelu of either domain."""
    (data,) = inputs
    groups.node("Gelu", [data], node.output[0], **attrs)


def bias_gelu(groups: Groups, node: Any, inputs: list[str], _attrs: dict[str, Any]) -> None:
    """Write a sum and its Gelu."""
    data, bias = inputs
    _biased(groups, node, data, bias, approximate="none")


def fast_gelu(groups: Groups, node: Any, inputs: list[str], _attrs: dict[str, Any]) -> None:
    """Write a Gelu of a hyperbolic tangent, of data or of data and a bias."""
    data, bias = [*inputs, ""][:2]
    _biased(groups, node, data, bias, approximate="tanh")


def quick_gelu(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write the product of data and the Sigmoid of a multiple of them."""
    (data,) = inputs
    slope = float(attrs.get("alpha", _SLOPE))
    name, scaled = f"{groups.prefix}{node.output[0]}", data
    if slope != 1:
        constant = groups.constant(np.asarray(slope, np.float32))
        scaled = groups.node("Mul", [data, constant], f"{name}_scaled")
    sigmoid = groups.node("Sigmoid", [scaled], f"{name}_sigmoid")
    groups.node("Mul", [data, sigmoid], node.output[0])


def _biased(groups: Groups, node: Any, data: str, bias: str, approximate: str) -> None:
    if bias:
        if bias in groups.constants and groups.constants[bias].ndim != 1:
            raise UnsupportedError("the bias must have one axis")
        data = groups.node("Add", [data, bias], f"{groups.prefix}{node.output[0]}_sum")
    groups.node("Gelu", [data], node.output[0], approximate=approximate)


_EPSILON = np.float32(1e-12)
"""Of an operator with a sum before it, where it states none."""
_SUM = 3
"""The place of the sum among the results of an operator with a residual."""
_OF_AXES_AS_OPERAND = 13
"""The operator sets in which ReduceSum takes its axes as an operand."""
_TABLES = (2, 3, 4, 5, 6)
"""The operands of an embedding that may be bytes: three tables, scale and bias."""
_ENCODINGS = (8, 13)
"""The places of the first scale and zero point of those."""


def skip_layer_normalization(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write a sum and its LayerNormalization."""
    data, skip, scale, offset, bias = operands_of(inputs, 3, 5)
    total = _sum(groups, node, [data, skip, bias])
    operands = [total, scale, *([offset] if offset else [])]
    _normalized(groups, "LayerNormalization", operands, node.output[0], attrs, "welford")


def skip_simplified_layer_normalization(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write a sum and its RMSNormalization."""
    data, skip, scale, bias = operands_of(inputs, 3, 4)
    total = _sum(groups, node, [data, skip, bias])
    _normalized(groups, "RMSNormalization", [total, scale], node.output[0], attrs, "squares")


def simplified_layer_normalization(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write an RMSNormalization."""
    data, scale = inputs
    _check_results(node, (0,))
    groups.node("RMSNormalization", [data, scale], node.output[0], **attrs)


def embed_layer_normalization(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write the sum of rows of tables, its LayerNormalization, and the count of what is seen."""
    operands = operands_of(inputs, 7, 9)
    ids, segments, words, places, kinds, scale, offset, mask, positions = operands
    name = f"{groups.prefix}{node.output[0]}"
    parts = [
        groups.node("Gather", [words, ids], f"{name}_words", axis=0),
        _placed(groups, f"{name}_places", places, positions, ids),
    ]
    if segments:
        parts.append(groups.node("Gather", [kinds, segments], f"{name}_kinds", axis=0))
    _embedded(groups, node, parts, [scale, offset], attrs)
    _count(groups, node, mask, ids)


def quantized_embed_layer_normalization(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write EmbedLayerNormalization with tables, scale and bias of bytes."""
    operands = operands_of(inputs, 18, 18)
    ids, segments, words, places, kinds, scale, offset, mask = operands[:8]
    name = f"{groups.prefix}{node.output[0]}"

    def real(place: int, values: str) -> str:
        scales, points = (operands[first + place - _TABLES[0]] for first in _ENCODINGS)
        return groups.dequantized(values, scales, points)

    word, position, kind, factor, addend = _TABLES
    parts = [
        real(word, groups.node("Gather", [words, ids], f"{name}_words", axis=0)),
        real(position, _placed(groups, f"{name}_places", places, "", ids)),
    ]
    if segments:
        bytes_of = groups.node("Gather", [kinds, segments], f"{name}_kinds", axis=0)
        parts.append(real(kind, bytes_of))
    _embedded(groups, node, parts, [real(factor, scale), real(addend, offset)], attrs)
    _count(groups, node, mask, ids)


def operands_of(inputs: list[str], least: int, most: int) -> list[str]:
    """Return as many operands as there may be; the last ones may be left out.

    Raises:
        ValueError: there are too few, or too many.
    """
    if not least <= len(inputs) <= most or not inputs[0]:
        raise ValueError("too few or too many operands")
    return [*inputs, *[""] * (most - len(inputs))]


def _check_results(node: Any, known: tuple[int, ...]) -> None:
    if any(name for place, name in enumerate(node.output) if place not in known):
        raise UnsupportedError("mean and deviation as results are not imported")


def _result(node: Any, place: int) -> str:
    """Return the name of a result; none if nobody wants it."""
    return str(node.output[place]) if place < len(node.output) else ""


def _sum(groups: Groups, node: Any, operands: list[str]) -> str:
    """Add up operands from left to right, to the result that has this sum if there is one."""
    _check_results(node, (0, _SUM))
    name = f"{groups.prefix}{node.output[0]}_sum"
    total, *others = filter(None, operands)
    for number, each in enumerate(others):
        is_last = number == len(others) - 1
        wanted = _result(node, _SUM) if is_last else ""
        total = groups.node("Add", [total, each], wanted or f"{name}_{number}")
    return total


def _normalized(
    groups: Groups, op: str, operands: list[str], output: str, attrs: dict[str, Any], order: str
) -> None:
    epsilon = float(attrs.get("epsilon", _EPSILON))
    groups.node(op, operands, output, axis=-1, epsilon=epsilon, order=order)


def _placed(groups: Groups, name: str, table: str, positions: str, ids: str) -> str:
    """Return the rows of a table at stated places, or the first ones, one for each token."""
    if positions:
        return groups.node("Gather", [table, positions], name, axis=0)
    zero, one, two = (groups.constant(np.array([number], np.int64)) for number in range(3))
    shape = groups.node("Shape", [ids], f"{name}_shape")
    tokens = groups.node("Slice", [shape, one, two, zero], f"{name}_count")
    return groups.node("Slice", [table, zero, tokens, zero], name)


def _embedded(
    groups: Groups, node: Any, parts: list[str], parameters: list[str], attrs: dict[str, Any]
) -> None:
    total, *others = parts
    for number, each in enumerate(others):
        wanted = _result(node, 2) if number == len(others) - 1 else ""
        name = f"{groups.prefix}{node.output[0]}_sum_{number}"
        total = groups.node("Add", [total, each], wanted or name)
    operands = [total, *parameters]
    _normalized(groups, "LayerNormalization", operands, node.output[0], attrs, "two_passes")


def _count(groups: Groups, node: Any, mask: str, ids: str) -> None:
    """Write how many tokens of each sentence have the mask 1; without a mask there is none."""
    output = _result(node, 1)
    if not output:
        return
    one = groups.constant(np.array(1, np.int32))
    name, int32 = f"{groups.prefix}{output}", onnx_package().TensorProto.INT32
    is_seen = groups.node("Equal" if mask else "Less", [mask or ids, one if mask else ids], name)
    seen = groups.node("Cast", [is_seen], f"{name}_bits", to=int32)
    if groups.opset < _OF_AXES_AS_OPERAND:
        groups.node("ReduceSum", [seen], output, axes=[1], keepdims=0)
    else:
        axes = groups.constant(np.array([1], np.int64))
        groups.node("ReduceSum", [seen, axes], output, keepdims=0)
    groups.ranks = {**groups.ranks, output: 1}
