"""Graphs of one MXNet operator, made by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm

import legalize
from frontends.mxnet import from_mxnet
from frontends.mxnet.graph import Entry, Graph, Node
from tests.support.operators import run_all


def ends(**numbers: Any) -> dict[str, Any]:
    """Return ends of ranges as float32, by the names of their inputs."""
    return {name: np.float32(number) for name, number in numbers.items()}


def graph_of(
    op: str,
    attrs: Mapping[str, Any],
    inputs: Sequence[str],
    subgraph: Graph | None = None,
    outputs: int = 1,
) -> Graph:
    """Return an operator that reads variables of these names, and its first ``outputs`` results."""
    variables = tuple(Node(name, "null") for name in inputs)
    texts = {name: str(value) for name, value in attrs.items()}
    entries = tuple(Entry(number) for number in range(len(inputs)))
    node = Node("node", op, texts, entries, () if subgraph is None else (subgraph,))
    heads = tuple(Entry(len(inputs), number) for number in range(outputs))
    return Graph((*variables, node), heads)


def chain_of(*nodes: tuple[str, Mapping[str, Any], Sequence[str]]) -> Graph:
    """Return a subgraph: each operator reads the one before it, then variables of its own.

    Args:
        *nodes: name of the operator, attributes, names of the variables; the first operator reads
            only those.
    """
    graph: list[Node] = []
    last: list[Entry] = []
    for op, attrs, names in nodes:
        entries = list(last)
        for name in names:
            graph.append(Node(name, "null"))
            entries.append(Entry(len(graph) - 1))
        texts = {name: str(value) for name, value in attrs.items()}
        graph.append(Node(op.lower(), op, texts, tuple(entries)))
        last = [Entry(len(graph) - 1)]
    return Graph(tuple(graph), tuple(last))


def imported(
    graph: Graph,
    data: Mapping[str, np.ndarray],
    constants: Mapping[str, Any] | None = None,
    *,
    semantics: str = "mxnet",
) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Return the graph with inputs like ``data``; other variables are constants."""
    return from_mxnet(
        graph,
        {name: array.shape for name, array in data.items()},
        {name: str(array.dtype) for name, array in data.items()},
        {name: np.asarray(value) for name, value in (constants or {}).items()},
        semantics=semantics,
    )


def computed(
    graph: Graph,
    data: Mapping[str, np.ndarray],
    constants: Mapping[str, Any] | None = None,
    *,
    semantics: str = "mxnet",
) -> list[Any]:
    """Run the graph, through the portable primitives."""
    mod, params = imported(graph, data, constants, semantics=semantics)
    bound = tvm.relax.transform.BindParams("main", params)(mod)
    return run_all(legalize.LegalizeQnn()(bound), list(data.values()))
