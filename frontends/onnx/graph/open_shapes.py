"""Inference of shapes and values from open sizes that the package onnx does not infer."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.values import of_open_sizes, told_size
from frontends.onnx.read.constants import Array
from frontends.onnx.read.names import attributes_of
from frontends.onnx.read.standard import BROADCASTING, DOMAINS, UNARY
from frontends.ranges import clamped, whole_shape
from qnn_ops.dialect.sizes import OpenSizeError, Size, broadcast

Shape = tuple[int, ...]
Rule = Callable[[list[Shape | None], Sequence[Array | None], dict[str, Any]], Shape]
"""``rule(shapes, values, attributes)`` returns the shape of the first result.

Shapes and values are those of the operands; None for an operand that is left out or unknown.
"""


def follow(graph: Graph) -> bool:
    """Infer shapes and values, and store them in the graph's ``sized`` and ``values``.

    Returns:
        Whether there are new shapes or values.
    """
    shapes = {name: graph.constants.shape(name) for name in graph.constants} | graph.shapes
    before = len(graph.sized) + len(graph.values)
    for node in graph.node:
        if node.domain not in DOMAINS:
            continue
        if (value := _value(graph, node, shapes)) is not None:
            graph.values[node.output[0]] = value
            shapes.setdefault(node.output[0], value.shape)
        name = node.output[0]
        if node.op_type not in RULES or name in shapes:
            continue
        known = [_known(graph, each) for each in node.input]
        with suppress(ValueError, TypeError, LookupError):
            given, attributes = [shapes.get(each) for each in node.input], attributes_of(node)
            shapes[name] = graph.sized[name] = RULES[node.op_type](given, known, attributes)
    return len(graph.sized) + len(graph.values) > before


def _known(graph: Graph, name: str) -> Array | None:
    if name in graph.values:
        return graph.values[name]
    if name in graph.constants and prod(graph.constants.shape(name)) <= _MOST:
        return graph.constants[name]
    return None


_MOST = 1 << 12
"""The most values of a tensor of sizes."""


def _value(graph: Graph, node: Any, shapes: Mapping[str, Shape]) -> Array | None:
    """Return the value of a node that computes open sizes; None for any other node."""
    if not node.input or node.output[0] in graph.values:
        return None
    shape = shapes.get(node.input[0])
    if node.op_type in ("Shape", "Size"):
        return None if shape is None else told_size(node, shape)
    operands = {name: each for name in node.input if (each := _known(graph, name)) is not None}
    is_known = operands.keys() >= {*filter(None, node.input)}
    follows = any(name in graph.values or each.dtype == object for name, each in operands.items())
    return of_open_sizes(graph, node, operands) if is_known and follows else None


def sizes_of(value: Any) -> Shape:
    """Return the sizes of a shape, or of a tensor of sizes.

    Raises:
        UnsupportedError: they are not known.
    """
    if value is None:
        raise UnsupportedError("its numbers must be constant")
    sizes: list[Any] = [each if isinstance(each, Size) else int(each) for each in value]
    return tuple(sizes)


def _product(shapes: list[Any], *_: Any) -> Shape:
    one, other = sizes_of(shapes[0]), sizes_of(shapes[1])
    if min(len(one), len(other)) < 2:
        raise LookupError("a vector")
    return (*broadcast(one[:-2], other[:-2]), one[-2], other[-1])


def _reshape(shapes: list[Any], values: Sequence[Any], attributes: dict[str, Any]) -> Shape:
    shape, sizes = sizes_of(shapes[0]), sizes_of(values[1])
    target = list(sizes)
    if not attributes.get("allowzero", 0):
        sizes = tuple(shape[axis] if size == 0 else size for axis, size in enumerate(sizes))
    known = prod(size for size in sizes if size != -1)
    if -1 in sizes and known != 0 and prod(shape) % known != 0:
        raise OpenSizeError(f"{list(shape)} to {target}")
    return whole_shape(shape, sizes)


def _flatten(shapes: list[Any], _: Any, attributes: dict[str, Any]) -> Shape:
    shape, axis = sizes_of(shapes[0]), attributes.get("axis", 1)
    return prod(shape[:axis]), prod(shape[axis:])


def _tile(shapes: list[Any], values: Sequence[Any], _: Any) -> Shape:
    pairs = zip(sizes_of(shapes[0]), sizes_of(values[1]), strict=True)
    return tuple(size * count for size, count in pairs)


def ends_of_range(values: Sequence[Any]) -> Shape:
    """Return start, limit and step of a Range."""
    begin, end, step = (sizes_of(None if each is None else np.ravel(each))[0] for each in values)
    return begin, end, step


def length_of(begin: Any, end: Any, step: Any) -> Any:
    """Return how many numbers a range has; its end is not among them.

    Raises:
        OpenSizeError: that depends on open sizes.
    """
    if isinstance(step, Size) or step < 1:
        raise OpenSizeError("a range has such a step")
    distance = end - begin
    return -(-distance // int(step)) if distance >= 0 else 0


_END = (1 << 31) - 1
"""Exporters write at least this number for the end of an axis."""


def bounds_of(size: Any, begin: Any, end: Any) -> tuple[Any, Any]:
    """Return the first index of a slice in positive steps, and the index behind the last one.

    Raises:
        OpenSizeError: that depends on open sizes.
    """
    if not isinstance(end, Size) and end >= _END:
        end = size
    high = clamped(end, size, 0, size)
    return clamped(begin, size, 0, high), high


def slices_of(
    shapes: Sequence[Any], values: Sequence[Any], attributes: Mapping[str, Any]
) -> dict[int, tuple[Any, Any, int]]:
    """Return begin, end and step for each axis of a Slice.

    Raises:
        OpenSizeError: they depend on open sizes, or steps go back along an open axis.
        UnsupportedError: they are not known.
    """
    if any(each is None and shapes[n] is not None for n, each in enumerate(values[1:], 1)):
        raise UnsupportedError("its numbers must be constant")
    shape = shapes[0]
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


def _slice(shapes: list[Any], values: Sequence[Any], attributes: dict[str, Any]) -> Shape:
    shape = list(sizes_of(shapes[0]))
    for axis, (begin, end, step) in slices_of(shapes, values, attributes).items():
        shape[axis] = length_of(begin, end, step)
    return tuple(shape)


def _concat(shapes: list[Any], _: Any, attributes: dict[str, Any]) -> Shape:
    known = list(map(sizes_of, shapes))
    axis = int(attributes["axis"]) % len(known[0])
    size = sum(shape[axis] for shape in known)
    return (*known[0][:axis], size, *known[0][axis + 1 :])


def _pad(shapes: list[Any], values: Sequence[Any], attributes: dict[str, Any]) -> Shape:
    shape = sizes_of(shapes[0])
    if len(values) > 3:
        raise LookupError("of some axes")
    pads = sizes_of(attributes.get("pads") if len(values) < 2 else values[1])
    return tuple(n + a + b for n, a, b in zip(shape, pads, pads[len(shape) :], strict=False))


_SAME = (*UNARY, "CumSum", "LayerNormalization", "RMSNormalization", "Softmax", "Trilu")

RULES: dict[str, Rule] = {
    **dict.fromkeys(BROADCASTING, lambda shapes, *_: broadcast(*map(sizes_of, shapes))),
    **dict.fromkeys(_SAME, lambda shapes, *_: sizes_of(shapes[0])),
    **dict.fromkeys(("MatMul", "MatMulInteger"), _product),
    "Concat": _concat,
    "ConstantOfShape": lambda _, values, __: sizes_of(values[0]),
    "Expand": lambda shapes, values, _: broadcast(sizes_of(shapes[0]), sizes_of(values[1])),
    "Flatten": _flatten,
    "Pad": _pad,
    "Range": lambda _, values, __: (length_of(*ends_of_range(values)),),
    "Reshape": _reshape,
    "Slice": _slice,
    "Tile": _tile,
}
"""By the name of the operator."""
