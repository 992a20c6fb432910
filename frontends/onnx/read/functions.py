"""Functions of a model's own, in the places of the nodes that call them."""

from __future__ import annotations

from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.read.names import graphs_of
from frontends.onnx.read.package import onnx_package

MOST = 100_000
"""Nodes that a model with functions may have when they are written out."""


def without_functions(proto: Any) -> Any:
    """Return the model with what its functions do, or the model itself if it has none.

    Raises:
        ModelFormatError: a function calls itself, or all of them would make too many nodes.
    """
    if not proto.functions:
        return proto
    # As a file may have them: each calls the next one twice.
    if _Counter(proto).nodes(proto.graph.node) > MOST:
        raise ModelFormatError(f"the model's functions make more than {MOST:,} nodes")
    try:
        return onnx_package().inliner.inline_local_functions(proto)
    except Exception as error:  # whatever the package's library meets
        raise ModelFormatError(f"the model's functions: {' '.join(str(error).split())}") from None


class _Counter:
    """Counts the nodes that calls stand for, each function once."""

    def __init__(self, proto: Any) -> None:
        self.functions = {(each.domain, each.name): each for each in proto.functions}
        self.counts: dict[tuple[str, str], int] = {}
        self.open: set[tuple[str, str]] = set()

    def nodes(self, nodes: Any) -> int:
        """Return how many nodes there are, written out; more than ``MOST`` is a bound."""
        return min(sum(map(self._node, nodes)), MOST + 1)

    def _node(self, node: Any) -> int:
        inner = sum(self.nodes(graph.node) for graph in graphs_of(node))
        key = (node.domain, node.op_type)
        if key not in self.functions:
            return 1 + inner
        if key not in self.counts:
            if key in self.open:
                raise ModelFormatError(f"the model's function {node.op_type!r} calls itself")
            self.open.add(key)
            self.counts[key] = self.nodes(self.functions[key].node)
            self.open.discard(key)
        return self.counts[key] + inner
