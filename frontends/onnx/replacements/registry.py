"""The table of operators that are replaced by others, and the call that a rule replaces."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import copied, whole
from qnn_ops.modules import Rules


@dataclass(frozen=True)
class Call:
    """A node to replace, and the graph that gets other nodes in its place.

    Attributes:
        graph: the model.
        node: the node.
        inputs: the names of its operands; empty for an operand that is left out.
        attributes: by name.
    """

    graph: Graph
    node: Any
    inputs: list[str]
    attributes: dict[str, Any]

    def operands(self, least: int, most: int) -> list[str]:
        """Return ``most`` operands; empty names replace those that the node leaves out.

        Raises:
            ValueError: there are too few or too many operands.
        """
        if not least <= len(self.inputs) <= most or not self.inputs[0]:
            raise ValueError("too few or too many operands")
        return [*self.inputs, *[""] * (most - len(self.inputs))]

    def result(self, index: int) -> str:
        """Return the name of a result; empty if the node lacks it."""
        return str(self.node.output[index]) if index < len(self.node.output) else ""

    def integer(self, name: str, default: int = 0) -> int:
        """Return an attribute that is a whole number, or a truth value of 0 or 1."""
        return whole(self.attributes.get(name, default), name)

    def real(self, name: str, default: float = 0.0) -> float:
        """Return an attribute that is a real number."""
        return float(self.attributes.get(name, default))

    def add(self, op: str, *operands: Any, output: str | list[str] = "", **attributes: Any) -> str:
        """Add a node; see ``Graph.add``."""
        return self.graph.add(op, *operands, output=output, **attributes)

    def end(self, op: str, *operands: Any, **attributes: Any) -> None:
        """Add the node that makes the first result."""
        self.graph.add(op, *operands, output=self.node.output[0], **attributes)


Rule = Callable[[Call], None]
"""``rule(call)`` adds the nodes that replace a node."""

RULES = Rules[str, Rule]()
"""By the name of the operator."""

rule = RULES.of

_ROW = 3
"""The number of axes of a row of pixels, with its batch and channels."""


def apply_rule(graph: Graph, node: Any, attributes: dict[str, Any]) -> None:
    """Add the nodes that replace a node; if channels are last, between two Transposes."""
    write, call = RULES[node.op_type], Call(graph, node, list(node.input), attributes)
    if not attributes.pop("channels_last", node.op_type == "NhwcMaxPool"):
        write(call)
        return
    rank = graph.rank(call.inputs[0])
    if rank < _ROW:
        raise UnsupportedError("of data whose channels are last the rank must be known")
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    call.inputs[0] = graph.add("Transpose", call.inputs[0], perm=first)
    inner = copied(node)
    inner.output[0] = f"{graph.prefix}{node.output[0]}_image"
    write(replace(call, node=inner))
    call.end("Transpose", inner.output[0], perm=last)
