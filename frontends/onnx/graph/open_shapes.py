"""Shapes and values that follow from open sizes, where the package onnx does not find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.open_values import value_of
from frontends.onnx.read.names import attributes_of
from frontends.ranges import clamped, whole_shape
from qnn_ops.dialect.sizes import OpenSizeError, Size, broadcast

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Rule = Callable[[list[Shape | None], list["Array | None"], dict[str, Any]], list[Shape]]
"""``rule(shapes, values, attributes)`` returns the shapes of results from those of operands.

The shape is None for an operand that is left out or whose shape is not known.
"""


def follow(graph: Graph) -> bool:
    """Find shapes and values, in the graph's ``sized`` and ``values``.

    Returns:
        Whether there are new ones.
    """
    shapes = {name: graph.constants.shape(name) for name in graph.constants} | graph.shapes
    before = len(graph.sized) + len(graph.values)
    for node in graph.node:
        if node.domain not in ("", "ai.onnx"):
            continue
        attributes = attributes_of(node)
        if (value := _value(graph, node, shapes, attributes)) is not None:
            graph.values[node.output[0]] = value
            shapes.setdefault(node.output[0], value.shape)
        rule = _RULES.get(node.op_type)
        if rule is None or all(name in shapes for name in node.output if name):
            continue
        known = [_known(graph, name) for name in node.input]
        attributes |= {"outputs": len(node.output)}
        with suppress(OpenSizeError, ValueError, TypeError, LookupError):
            found = rule([shapes.get(name) for name in node.input], known, attributes)
            made = {n: tuple(each) for n, each in zip(node.output, found, strict=False) if n}
            shapes |= made
            graph.sized |= made
    return len(graph.sized) + len(graph.values) > before


def _known(graph: Graph, name: str) -> Array | None:
    if name in graph.values:
        return graph.values[name]
    if name in graph.constants and prod(graph.constants.shape(name)) <= _MOST:
        return graph.constants[name]
    return None


_MOST = 1 << 12
"""The values of a tensor of shapes."""


def _value(
    graph: Graph, node: Any, shapes: Mapping[str, Shape], attributes: dict[str, Any]
) -> Array | None:
    """Return the value of a node of shapes that are open; None of any other."""
    if not node.input or node.output[0] in graph.values:
        return None
    shape = shapes.get(node.input[0])
    if node.op_type in ("Shape", "Size"):
        if shape is None:
            return None
        sizes = shape[attributes.get("start", 0) : attributes.get("end")]
        return _array(prod(shape) if node.op_type == "Size" else sizes)
    operands = [_known(graph, name) for name in node.input]
    is_known = all(each is not None or not n for n, each in zip(node.input, operands, strict=True))
    follows = any(name in graph.values or graph.is_open(name) for name in node.input)
    if not (is_known and follows):
        return None
    with suppress(OpenSizeError, ValueError, TypeError, LookupError, ZeroDivisionError):
        return value_of(node.op_type, operands, attributes)
    return None


def _array(sizes: Any) -> Array:
    found = np.array(sizes, object)
    is_static = not any(isinstance(each, Size) for each in found.flat)
    return found.astype(np.int64) if is_static else found


def _shape(value: Any) -> Shape:
    if value is None:
        raise LookupError("a shape is not known")
    return tuple(value)


def _same(shapes: list[Any], _: Any, attributes: dict[str, Any]) -> list[Shape]:
    return [_shape(shapes[0])] * attributes["outputs"]


def _broadcast(shapes: list[Any], *_: Any) -> list[Shape]:
    return [broadcast(*map(_shape, shapes))]


def _product(shapes: list[Any], *_: Any) -> list[Shape]:
    one, other = _shape(shapes[0]), _shape(shapes[1])
    if min(len(one), len(other)) < 2:
        raise LookupError("a vector")
    return [(*broadcast(one[:-2], other[:-2]), one[-2], other[-1])]


def reshaped(shape: Sequence[Any], target: Sequence[Any], *, keeps_zero: bool) -> Shape:
    """Return what a Reshape gives.

    Args:
        shape: of the data.
        target: sizes; -1 for the one that follows, and 0 for that of the data.
        keeps_zero: whether 0 is a size itself.
    """
    sizes: list[Any] = [size if isinstance(size, Size) else int(size) for size in target]
    if not keeps_zero:
        sizes = [shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes and known != 0 and prod(shape) % known != 0:
        raise OpenSizeError(f"{list(shape)} to {list(target)}")
    return whole_shape(shape, tuple(sizes))


def _reshape(shapes: list[Any], values: list[Any], attributes: dict[str, Any]) -> list[Shape]:
    keeps_zero = bool(attributes.get("allowzero", 0))
    return [reshaped(_shape(shapes[0]), _shape(values[1]), keeps_zero=keeps_zero)]


def _flatten(shapes: list[Any], _: Any, attributes: dict[str, Any]) -> list[Shape]:
    shape, axis = _shape(shapes[0]), attributes.get("axis", 1)
    return [(prod(shape[:axis]), prod(shape[axis:]))]


def _expand(shapes: list[Any], values: list[Any], _: Any) -> list[Shape]:
    return [broadcast(_shape(shapes[0]), _shape(values[1]))]


def _tile(shapes: list[Any], values: list[Any], _: Any) -> list[Shape]:
    pairs = zip(_shape(shapes[0]), _shape(values[1]), strict=True)
    return [tuple(size * count for size, count in pairs)]


def _filled(_: Any, values: list[Any], __: Any) -> list[Shape]:
    return [_shape(values[0])]


def _range(_: Any, values: list[Any], __: Any) -> list[Shape]:
    begin, end, step = (_shape(each.reshape(-1))[0] for each in values)
    return [(length_of(begin, end, step),)]


def length_of(begin: Any, end: Any, step: Any) -> Any:
    """Return how many numbers a range has; it has none from its end on.

    Raises:
        OpenSizeError: that depends on open sizes.
    """
    if isinstance(step, Size) or step < 1:
        raise OpenSizeError("a range has such a step")
    distance = end - begin
    return -(-distance // int(step)) if distance >= 0 else 0


_END = (1 << 31) - 1
"""A size that exporters write for the end of an axis."""


def bounds_of(size: Any, begin: Any, end: Any) -> tuple[Any, Any]:
    """Return the first index of a slice in positive steps, and the index behind its last one.

    Raises:
        OpenSizeError: that depends on open sizes.
    """
    if not isinstance(end, Size) and end >= _END:
        end = size
    high = clamped(end, size, 0, size)
    return clamped(begin, size, 0, high), high


def slices_of(
    shape: Sequence[int], values: Sequence[Any], attributes: Mapping[str, Any]
) -> dict[int, tuple[Any, Any, int]]:
    """Return begin, end and step for each axis of a Slice.

    Raises:
        OpenSizeError: they depend on open sizes, or steps go back along an open axis.
    """
    names = ("starts", "ends", "axes", "steps")
    given = [*values[1:], *[None] * 4][:4]
    begins, ends, axes, steps = (
        attributes.get(name) if each is None else list(np.ravel(each))
        for name, each in zip(names, given, strict=True)
    )
    begins, ends = list(begins or []), list(ends or [])
    axes, steps = axes or range(len(begins)), steps or [1] * len(begins)
    found = {}
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        axis, step = int(axis) % len(shape), int(step)
        if step < 1:
            raise OpenSizeError("a slice goes back")
        begin, end = (each if isinstance(each, Size) else int(each) for each in (begin, end))
        found[axis] = (*bounds_of(shape[axis], begin, end), step)
    return found


def _slice(shapes: list[Any], values: list[Any], attributes: dict[str, Any]) -> list[Shape]:
    shape = list(_shape(shapes[0]))
    if any(each is None and shapes[n] is not None for n, each in enumerate(values[1:], 1)):
        raise LookupError("its numbers are not known")
    for axis, (begin, end, step) in slices_of(shape, values, attributes).items():
        shape[axis] = length_of(begin, end, step)
    return [tuple(shape)]


def _concat(shapes: list[Any], _: Any, attributes: dict[str, Any]) -> list[Shape]:
    known = list(map(_shape, shapes))
    axis = int(attributes["axis"]) % len(known[0])
    size = sum(shape[axis] for shape in known)
    return [(*known[0][:axis], size, *known[0][axis + 1 :])]


def _pad(shapes: list[Any], values: list[Any], attributes: dict[str, Any]) -> list[Shape]:
    shape = _shape(shapes[0])
    pads = attributes.get("pads") if len(values) < 2 else values[1]
    if len(values) > 3:
        raise LookupError("of some axes")
    pads = [*_shape(pads)]
    return [tuple(n + a + b for n, a, b in zip(shape, pads, pads[len(shape) :], strict=False))]


_ELEMENTWISE = (
    *("Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max"),
    *("Min", "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Where", "Xor"),
)
_SAME = (
    *("Abs", "Cast", "Ceil", "Clip", "Cos", "CumSum", "DequantizeLinear", "Erf", "Exp", "Floor"),
    *("Gelu", "HardSigmoid", "HardSwish", "Identity", "IsNaN", "LayerNormalization", "LeakyRelu"),
    *("Log", "Neg", "Not", "QuantizeLinear", "RMSNormalization", "Reciprocal", "Relu", "Round"),
    *("Sigmoid", "Sign", "Sin", "Softmax", "Sqrt", "Tanh", "Trilu"),
)

_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _broadcast),
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys(("MatMul", "MatMulInteger"), _product),
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "Flatten": _flatten,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "Slice": _slice,
    "Tile": _tile,
}
"""By the name of the operator."""
