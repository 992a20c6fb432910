"""Constant folding: computes at import every value that depends only on shapes and constants."""

from collections.abc import Mapping
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import infer
from frontends.onnx.graph.values import evaluated, told_size
from frontends.onnx.read.constants import Array, range_of
from frontends.onnx.read.deciding import EXACT
from frontends.onnx.read.names import read_by
from qnn_ops.dialect.sizes import is_open

_OF_VALUES = ("Compress", "NonZero", "Unique")
"""Operators whose values decide the result's size: at most one number per element and axis."""

_FOLDED = EXACT | {"Shape", "Size", *_OF_VALUES}

_OF_SHAPES = ("ConstantOfShape", "Range", "Shape", "Size", *_OF_VALUES)
"""Operators that are folded even if they give an output: they make no tensor of these shapes."""

_LARGEST, _MOST = 2**16, 2**22
"""The most values of a folded tensor, and of all: shapes, masks and positions, but no weights."""
_ROUNDS = 16
"""Each round folds the values that follow from the shapes found in the round before."""


def fold(graph: Graph, rounds: int = _ROUNDS) -> None:
    """Replace the values that follow from static shapes by constants.

    Args:
        graph: a graph with inferred shapes.
        rounds: the most rounds.

    Raises:
        ModelFormatError: the inferred shapes do not fit the operators.
    """
    for _ in range(rounds):
        if not (found := _known_results(graph)):
            break
        _replace(graph, found)
        infer(graph)


def _known_results(graph: Graph) -> dict[str, Array]:
    """Compute the results of nodes whose operands are known, and results without elements."""
    constants = {name: graph.constants.shape(name) for name in graph.constants}
    shapes = constants | graph.shapes
    values = {
        name: graph.constants[name] for name, shape in constants.items() if prod(shape) <= _LARGEST
    }
    kept = {*graph.kept}
    found: dict[str, Array] = {}
    left = _MOST
    # A result with such a shape in the file may not be empty: files state wrong shapes, and some
    # operators refuse to make an empty result.
    given = {*constants, *(value.name for value in graph.input)}
    empty = {name for name in given if 0 in shapes.get(name, ())}
    for node in graph.node:
        if not empty.isdisjoint(node.input):
            made = [name for name in node.output if 0 in shapes.get(name, ()) and graph.dtype(name)]
            empty.update(made)
            if len(made) == len(node.output):
                found |= {name: np.empty(shapes[name], graph.dtype(name)) for name in made}
                continue
        if node.op_type not in _FOLDED or node.domain:
            continue
        if node.output[0] in graph.values:
            known = {node.output[0]: graph.values[node.output[0]]}
            found, values = found | known, values | known
            continue
        if any(map(is_open, (shapes.get(name, ()) for name in (*node.input, *node.output)))):
            continue
        size = sum(prod(_bound(node, name, shapes)) for name in node.output)
        is_kept = not kept.isdisjoint(node.output)
        if size > min(left, _LARGEST) or (is_kept and node.op_type not in _OF_SHAPES):
            continue
        if (results := _results(graph, node, shapes, values)) is not None:
            folded = dict(zip(node.output, results, strict=True))
            found |= folded
            values |= folded
            left -= size
    return found


def _bound(node: Any, name: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return a shape with the most elements that a result can have."""
    if node.op_type in _OF_VALUES and node.input[0] in shapes:
        return (*shapes[node.input[0]], max(1, len(shapes[node.input[0]])))
    return shapes.get(name, (_LARGEST + 1,))


def _results(
    graph: Graph, node: Any, shapes: Mapping[str, tuple[int, ...]], known: Mapping[str, Array]
) -> list[Array] | None:
    """Compute a node's results; return None if an operand is unknown or the operator fails."""
    if node.op_type in ("Shape", "Size"):
        shape = shapes.get(node.input[0])
        return None if shape is None else [told_size(node, shape)]
    names = [name for name in node.input if name]
    if not all(name in known and known[name].dtype != object for name in names):
        return None
    operands = {name: known[name] for name in names}
    if node.op_type == "Range":
        with suppress(UnsupportedError):
            return [range_of(*(known[name] for name in names))]
        return None
    try:
        return evaluated(graph, node, operands)
    except Exception:  # of numpy or the package onnx; an importer's rule then reports the fault
        return None


def _replace(graph: Graph, found: Mapping[str, Array]) -> None:
    """Turn results into constants, except for results that nothing reads."""
    kept = {*graph.kept}
    left = [node for node in graph.node if node.output[0] not in found]
    if any(array.size == 0 for array in found.values()):
        left = _read_nodes(left, kept)
    read = {name for node in left for name in node.input} | kept
    graph.node = left
    graph.constants.update((name, array) for name, array in found.items() if name in read)


def _read_nodes(nodes: list[Any], results: set[str]) -> list[Any]:
    """Return the nodes that compute some results, in order."""
    needed, read = [], set(results)
    for node in reversed(nodes):
        if not read.isdisjoint(node.output):
            needed.append(node)
            read.update(read_by(node))
    return needed[::-1]
