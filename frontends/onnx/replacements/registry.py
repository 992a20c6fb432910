"""The table of operators that are replaced by others."""

from collections.abc import Callable
from typing import Any

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.package import copied
from qnn_ops.modules import Rules

Rule = Callable[[Graph, Any, list[str], dict[str, Any]], None]
"""``rule(graph, node, inputs, attributes)`` adds the nodes that replace a node."""

RULES = Rules[str, Rule]()
"""By the name of the operator."""

rule = RULES.of

_ROW = 3
"""The number of axes of a row of pixels, with its batch and channels."""


def apply_rule(graph: Graph, node: Any, attrs: dict[str, Any]) -> None:
    """Add the nodes that replace a node; if channels are last, between two Transposes."""
    write, inputs = RULES[node.op_type], list(node.input)
    if not attrs.pop("channels_last", node.op_type == "NhwcMaxPool"):
        write(graph, node, inputs, attrs)
        return
    rank = graph.rank(inputs[0])
    if rank < _ROW:
        raise UnsupportedError("of data whose channels are last the rank must be known")
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    inputs[0] = graph.add("Transpose", inputs[0], perm=first)
    inner = copied(node)
    inner.output[0] = f"{graph.prefix}{node.output[0]}_image"
    write(graph, inner, inputs, attrs)
    graph.add("Transpose", inner.output[0], output=node.output[0], perm=last)


def operands_of(inputs: list[str], least: int, most: int) -> list[str]:
    """Return ``most`` operands; empty names replace those that the node leaves out.

    Raises:
        ValueError: there are too few or too many operands.
    """
    if not least <= len(inputs) <= most or not inputs[0]:
        raise ValueError("too few or too many operands")
    return [*inputs, *[""] * (most - len(inputs))]
