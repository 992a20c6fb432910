"""Names that a graph leaves free."""

from __future__ import annotations

from typing import Any

_PREFIX = "tvm_qnn_"


def free_prefix(graph: Any) -> str:
    """Return what no name of a graph's nodes begins with."""
    names = {name for node in graph.node for name in (*node.input, *node.output)}
    prefix = _PREFIX
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix
