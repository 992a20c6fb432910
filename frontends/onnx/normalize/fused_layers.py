"""Layers that a file states as several nodes, and that ONNX Runtime computes as one."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import attributes_of, is_of_standard, onnx_package
from frontends.onnx.read.standard import FLOAT

Pattern = Any
"""A name, which stands for one tensor; a number, which a constant is near to; or an operator and
the patterns of its operands. The operands of a sum or product may be swapped."""

_MOVABLE = ("Add", "Mul")


def _deviation(squares: Pattern) -> Pattern:
    # Its epsilon is the second operand.
    return ("Sqrt", ("Sum", ("ReduceMean", squares), "epsilon"))


_DISTANCE = ("Sub", "x", ("ReduceMean", "x"))
_CUBIC = ("Mul", ("Add", "x", ("Mul", ("Pow", "x", 3.0), 0.044715)), 0.7978845834732056)
_PRODUCTS = (
    "Mul",
    ("Mul", "x", 0.7978845834732056),
    ("Add", ("Mul", ("Mul", "x", 0.044715), "x"), 1.0),
)
_BENT: dict[Pattern, str] = {
    **{("Tanh", inner): "tanh" for inner in (_CUBIC, _PRODUCTS)},
    ("Erf", ("Div", "x", 2**0.5)): "none",
    ("Erf", ("Mul", "x", 0.5**0.5)): "none",
}
_PATTERNS: list[tuple[Pattern, str, dict[str, Any]]] = [
    (
        (
            "Add",
            ("Mul", ("Div", _DISTANCE, _deviation(("Pow", _DISTANCE, 2.0))), "scale"),
            "bias",
        ),
        "LayerNormalization",
        {"axis": -1},
    ),
    *(
        (("Mul", steps, "scale"), "RMSNormalization", {"axis": -1})
        for steps in (
            ("Div", "x", _deviation(("Pow", "x", 2.0))),
            ("Mul", "x", ("Div", 1.0, _deviation(("Pow", "x", 2.0)))),
        )
    ),
    *(
        (form, "Gelu", {"approximate": kind})
        for bent, kind in _BENT.items()
        for form in (
            ("Mul", ("Mul", "x", 0.5), ("Add", bent, 1.0)),
            ("Mul", ("Mul", "x", ("Add", bent, 1.0)), 0.5),
        )
    ),
]
_OF_TANH = {"approximate": "tanh"}
"""ONNX Runtime does not look for this Gelu if its result is an output of the model."""
_OF_SKIP = 3
"""The number of axes of data for which ONNX Runtime fuses a sum and its normalization."""


Found = tuple[dict[str, str], dict[str, Any]]
"""A match of a pattern: the names of tensors, and its nodes by the names of their results."""


def _found(graph: Graph, wanted: list[tuple[Pattern, str]], before: Found) -> Iterator[Found]:
    """Yield each match of all patterns, each pattern with its tensor."""
    if not wanted:
        yield before
        return
    ((pattern, name), *others), (names, nodes) = wanted, before
    if isinstance(pattern, str):
        if names.get(pattern, name) == name:
            yield from _found(graph, others, ({**names, pattern: name}, nodes))
        return
    if isinstance(pattern, float):
        known = graph.constants.get(name)
        if known is not None and known.size == 1 and np.isclose(known.item(), pattern):
            yield from _found(graph, others, before)
        return
    code, *operands = pattern
    node, code = graph.made.get(name), "Add" if code == "Sum" else code
    if node is None or not is_of_standard(node, code):
        return
    if code == "ReduceMean" and not _is_of_last(graph, node):
        return
    inputs = list(node.input)[: len(operands)]
    orders = [inputs, inputs[::-1]] if pattern[0] in _MOVABLE else [inputs]
    for order in orders if len(inputs) == len(operands) else ():
        parts = [*zip(operands, order, strict=True), *others]
        yield from _found(graph, parts, (names, {**nodes, name: node}))


def _is_of_last(graph: Graph, node: Any) -> bool:
    stated = attributes_of(node)
    axes = stated.get("axes", [])
    if len(node.input) > 1:
        known = graph.constants.get(node.input[1])
        axes = [] if known is None else known.ravel().tolist()
    rank = len(graph.shapes.get(node.input[0], ()))
    return bool(stated.get("keepdims", 1) and rank and axes in ([-1], [rank - 1]))


def write_fused_layers(graph: Graph) -> None:
    """Replace groups of simple nodes by LayerNormalization, RMSNormalization and Gelu.

    ONNX Runtime does the same, which changes its rounding. It does not if the data comes from a
    DequantizeLinear, because each reader gets its own copy of that node. A LayerNormalization of
    the sum of two tensors of three axes, which nothing else reads, gets the order of ONNX Runtime's
    SkipLayerNormalization.
    """
    uses, dropped = graph.index().uses, set[str]()
    written: dict[str, Any] = {}
    for pattern, code, attributes in _PATTERNS:
        for node in graph.node:
            name = node.output[0]
            if node.op_type != pattern[0] or name in dropped or graph.kinds.get(name) != FLOAT:
                continue
            found = next(_found(graph, [(pattern, name)], ({}, {})), None)
            if found is None or (attributes == _OF_TANH and name in graph.kept):
                continue
            names, nodes = found
            made = _written(graph, names, node, code, attributes)
            inner = nodes.keys() - {name}
            own = Counter(each for every in nodes.values() for each in every.input)
            is_own = not inner & dropped and all(own[each] == uses[each] for each in inner)
            if made is not None and is_own:
                dropped |= inner
                written[name] = made
    left = [
        written.get(node.output[0], node) for node in graph.node if not dropped & set(node.output)
    ]
    graph.node = [_ordered(node, graph) for node in left]


def _written(
    graph: Graph, found: dict[str, str], node: Any, code: str, attributes: dict[str, Any]
) -> Any:
    """Return the node of a pattern; None if ONNX Runtime has no such node."""
    if graph.maker(found["x"], "DequantizeLinear") is not None:
        return None
    operands = [found[each] for each in ("x", "scale", "bias") if each in found]
    if "epsilon" in found:
        epsilon = graph.constants.get(found["epsilon"])
        width = graph.shapes.get(found["x"], (0,))[-1]
        parameters = [graph.known_shape(name) for name in operands[1:]]
        if epsilon is None or epsilon.size != 1 or set(parameters) != {(width,)}:
            return None
        attributes = {**attributes, "epsilon": float(epsilon.item())}
    return onnx_package().helper.make_node(code, operands, list(node.output), **attributes)


def _ordered(node: Any, graph: Graph) -> Any:
    """State the order of a normalization's sums, if ONNX Runtime fuses it with a sum before it."""
    stated = attributes_of(node)
    if node.op_type != "LayerNormalization" or "order" in stated or len(node.output) > 1:
        return node
    total = graph.maker(node.input[0], "Add")
    if total is None or graph.uses[node.input[0]] != 1:
        return node
    shapes = [graph.known_shape(name) or () for name in total.input]
    is_last = stated.get("axis", -1) in (-1, _OF_SKIP - 1)
    if not is_last or len(shapes[0]) != _OF_SKIP or shapes[0] != shapes[1]:
        return node
    made = {"axis": -1, "epsilon": float(stated.get("epsilon", 1e-5)), "order": "welford"}
    names = list(node.input), list(node.output)
    return onnx_package().helper.make_node(node.op_type, *names, domain=node.domain, **made)
