"""Identity nodes, which hide what stands on both sides of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any


def without_identities(nodes: Iterable[Any], kept: Collection[str]) -> list[Any]:
    """Leave out Identity nodes, as ONNX Runtime does, but those that give an output.

    Args:
        nodes: of a model, in order; their operands are renamed.
        kept: the names of its outputs.
    """
    left: list[Any] = []
    source: dict[str, str] = {}
    for node in nodes:
        for place, name in enumerate(node.input):
            node.input[place] = source.get(name, name)
        is_identity = node.op_type == "Identity" and node.domain in ("", "ai.onnx")
        if is_identity and node.output[0] not in kept:
            source[node.output[0]] = node.input[0]
        else:
            left.append(node)
    return left
