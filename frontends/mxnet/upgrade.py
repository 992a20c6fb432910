"""Symbols of former MXNet versions, as later ones write them.

The rules are those of MXNet's own pass LoadLegacyJSON.
"""

from __future__ import annotations

from dataclasses import replace

from frontends.mxnet.graph import VARIABLE, Entry, Graph, Node

_BEFORE_VERSIONS = 800  # files do not name their version before 0.9.0
_STORES_AUXILIARY = 900
_OPTIONAL_AXIS = 905

# Inputs that are states, which files do not name before 0.9.0: all inputs, in order.
_NORMALIZED = ("data", "gamma", "beta", "moving_mean", "moving_var")
_STATES = {"BatchNorm": _NORMALIZED, "CuDNNBatchNorm": _NORMALIZED}

# What a trainer wanted to know, written among an operator's arguments before 0.9.
_HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")


def upgrade(graph: Graph) -> Graph:
    """Return the graph as MXNet 1.0 and later would write it.

    Args:
        graph: a symbol of any version.

    Returns:
        The graph with the states of its batch normalizations as variables, and without
        arguments that are none.
    """
    version = graph.attrs.get("mxnet_version", _BEFORE_VERSIONS)
    assert isinstance(version, int)  # the reader has checked it
    if version < _STORES_AUXILIARY:
        graph = _with_states(graph)
    return replace(graph, nodes=tuple(_clean(node, version) for node in graph.nodes))


def _clean(node: Node, version: int) -> Node:
    attrs = {key: text for key, text in node.attrs.items() if not key.endswith(_HIDDEN)}
    # -1 stood for all axes before the argument was optional.
    if node.op in ("argmax", "argmin") and version < _OPTIONAL_AXIS and attrs.get("axis") == "-1":
        del attrs["axis"]
    return node if len(attrs) == len(node.attrs) else replace(node, attrs=attrs)


def _with_states(graph: Graph) -> Graph:
    nodes: list[Node] = []
    moved: list[int] = []  # the new number of each old node
    arg_nodes = set(graph.arg_nodes)
    arguments: list[int] = []
    for index, node in enumerate(graph.nodes):
        inputs = [Entry(moved[entry.node], entry.output) for entry in node.inputs]
        for suffix in _STATES.get(node.op, ())[len(inputs) :]:
            inputs.append(Entry(len(nodes)))
            arguments.append(len(nodes))
            nodes.append(Node(f"{node.name}_{suffix}" if node.name else suffix, VARIABLE))
        moved.append(len(nodes))
        if index in arg_nodes:
            arguments.append(len(nodes))
        nodes.append(replace(node, inputs=tuple(inputs)))
    heads = tuple(Entry(moved[head.node], head.output) for head in graph.heads)
    return Graph(tuple(nodes), tuple(arguments), heads, graph.attrs)
