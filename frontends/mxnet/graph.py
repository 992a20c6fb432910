"""An MXNet symbol as a small typed graph: the reader makes it, the converters read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SEMANTICS = ("mxnet", "corrected")
"""The choice where MXNet deviates from its own intent: its own results, or the intended ones."""

VARIABLE = "null"  # MXNet's operator name of a variable


@dataclass(frozen=True)
class Entry:
    """One output of one node.

    Attributes:
        node: the node's number in its graph.
        output: the index of the output.
    """

    node: int
    output: int = 0


@dataclass(frozen=True)
class Node:
    """A variable or an operator.

    Attributes:
        name: its name; for a variable, the name of the input or parameter.
        op: MXNet's name of the operator; "null" for a variable.
        attrs: its attributes in the file, name to text; numbers, booleans and tuples are text, too,
            in the spelling of the file's writer.
        inputs: the outputs of earlier nodes that it reads.
        subgraphs: the graphs inside the operator: the operators in a fused one, or the bodies of
            control flow.
    """

    name: str
    op: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Entry, ...] = ()
    subgraphs: tuple[Graph, ...] = ()

    @property
    def is_variable(self) -> bool:
        """Whether it is an input or a parameter."""
        return self.op == VARIABLE


@dataclass(frozen=True)
class Graph:
    """A symbol, its nodes in an order in which they can be computed.

    Attributes:
        nodes: every node, by number.
        heads: the graph's outputs.
        attrs: the file's attributes of the whole graph, for instance `mxnet_version`, 10901 for
            1.9.1; absent before 0.9.
    """

    nodes: tuple[Node, ...]
    heads: tuple[Entry, ...]
    attrs: Mapping[str, object] = field(default_factory=dict)


def reachable(graph: Graph) -> list[int]:
    """Return the numbers of the nodes that the heads depend on, in order."""
    wanted = {head.node for head in graph.heads}
    for number in reversed(range(len(graph.nodes))):
        if number in wanted:
            wanted.update(entry.node for entry in graph.nodes[number].inputs)
    return sorted(wanted)
