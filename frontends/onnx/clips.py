"""Clips that quantizing does by itself, and ONNX Runtime therefore drops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def without_clips(nodes: list[Any], constants: Mapping[str, Array], kept: set[str]) -> list[Any]:
    """Leave out each Clip whose one reader quantizes to a range within its ends.

    TVM's importer makes loops of a Clip, of which nobody sees any more what they do.

    Args:
        nodes: of a model; their operands are renamed.
        constants: of it, by name.
        kept: names that must not go: the model's outputs.
    """
    uses = Counter(name for node in nodes for name in node.input)
    made = {name: node for node in nodes for name in node.output}
    dropped: set[str] = set()
    for node in nodes:
        if node.op_type != "QuantizeLinear" or not node.input:
            continue
        clip = made.get(node.input[0])
        if clip is None or clip.op_type != "Clip" or clip.output[0] in kept:
            continue
        if uses[clip.output[0]] == 1 and _is_within(list(node.input), list(clip.input), constants):
            dropped.add(clip.output[0])
            node.input[0] = clip.input[0]
    return [node for node in nodes if node.op_type != "Clip" or node.output[0] not in dropped]


def _is_within(quantize: list[str], clip: list[str], constants: Mapping[str, Array]) -> bool:
    """Tell whether a quantize's range lies within the ends of a clip."""
    scale, point = (constants.get(name) for name in (*quantize[1:], "")[:2])
    ends = [constants.get(name) for name in (*clip[1:], "", "")[:2]]
    if scale is None or point is None or scale.size != 1 or point.dtype.kind not in "iu":
        return False
    for name, end, sign in zip((*clip[1:], "", "")[:2], ends, (1, -1), strict=False):
        if not name:
            continue
        if end is None or end.size != 1 or np.isnan(end).any():
            return False
        info = np.iinfo(point.dtype)
        reached = np.rint(np.float32(end.item()) / np.float32(scale.item())) + int(point.item())
        if sign * (reached - (info.min if sign > 0 else info.max)) > 0:
            return False
    return True
