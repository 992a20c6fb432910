"""Nodes that give their operand as it is, which hide what stands on both sides of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

_IDENTITIES = ("Dropout", "Identity")


def without_identities(nodes: Iterable[Any], kept: Collection[str]) -> list[Any]:
    """Leave out Identity and Dropout, as ONNX Runtime does, but those that give an output.

    Args:
        nodes: of a model, in order; their operands are renamed.
        kept: the names of its outputs.
    """
    nodes = list(nodes)
    read = {*kept, *(name for node in nodes for name in node.input)}
    left: list[Any] = []
    source: dict[str, str] = {}
    for node in nodes:
        for place, name in enumerate(node.input):
            node.input[place] = source.get(name, name)
        is_identity = _is_identity(node, read)
        if is_identity and node.output[0] not in kept:
            source[node.output[0]] = node.input[0]
            continue
        if is_identity:
            node.op_type = "Identity"
            del node.input[1:], node.output[1:], node.attribute[:]
        left.append(node)
    return left


def _is_identity(node: Any, read: Collection[str]) -> bool:
    """Tell whether a node gives its first operand: a Dropout drops only where it is told to."""
    return (
        node.op_type in _IDENTITIES
        and node.domain in ("", "ai.onnx")
        and not any(node.input[2:])  # whether a Dropout is for training
        and not any(name in read for name in node.output[1:])  # what it dropped
    )
