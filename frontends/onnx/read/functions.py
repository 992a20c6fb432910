"""Inlining of a model's own functions."""

from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.read.names import all_nodes
from frontends.onnx.read.package import onnx_package

MOST = 100_000
"""The most nodes of a model whose functions are written out."""


def without_functions(proto: Any) -> Any:
    """Return the model with its functions inlined, or the model itself if it has none.

    Raises:
        ModelFormatError: a function calls itself, or all of them would make too many nodes.
    """
    if not proto.functions:
        return proto
    # A file may have functions of which each calls the next one twice.
    if _count(proto) > MOST:
        raise ModelFormatError(f"the model's functions make more than {MOST:,} nodes")
    try:
        return onnx_package().inliner.inline_local_functions(proto)
    except Exception as error:  # of the package's library
        raise ModelFormatError(f"the model's functions: {' '.join(str(error).split())}") from None


def _count(proto: Any) -> int:
    """Return how many nodes a written-out model has; a number above ``MOST`` is a lower bound."""
    functions = {(each.domain, each.name): each for each in proto.functions}
    counts: dict[tuple[str, str], int] = {}
    is_open = -1

    def of_node(node: Any) -> int:
        key = (node.domain, node.op_type)
        if key not in functions:
            return 1
        if key not in counts:
            counts[key] = is_open
            counts[key] = of_graph(functions[key])
        if counts[key] == is_open:
            raise ModelFormatError(f"the model's function {node.op_type!r} calls itself")
        return counts[key]

    def of_graph(graph: Any) -> int:
        return min(sum(map(of_node, all_nodes(graph))), MOST + 1)

    return of_graph(proto.graph)
