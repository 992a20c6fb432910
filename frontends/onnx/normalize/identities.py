"""Drops nodes that return their operand, and clips that quantizing makes superfluous."""

from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import is_of_standard

_CLIPS = ("Clip", "Relu")
_ZERO = "<zero>"
"""A stand-in for the name of a Relu's lower bound."""


def drop_clip(graph: Graph, node: Any) -> bool:
    """Drop a Clip or Relu whose only reader, the node, quantizes to a range within its bounds.

    The maker of its data then has that reader, perhaps beside others.
    """
    is_quantizing = node.op_type == "QuantizeLinear" and node.input
    clip = graph.maker(node.input[0], *_CLIPS) if is_quantizing else None
    if clip is None or graph.uses[clip.output[0]] != 1:
        return False
    ends = [_ZERO, ""] if clip.op_type == "Relu" else [*clip.input[1:], "", ""][:2]
    if _is_within(graph, node, ends):
        graph.dropped.add(clip.output[0])
        node.input[0] = clip.input[0]
    return False


def is_clip_before_quantize(graph: Graph, name: str) -> bool:
    """Tell whether a tensor's only reader is a Clip or Relu whose only reader quantizes.

    ONNX Runtime first counts the maker of this tensor as quantized. Then it finds that the Clip
    changes values, so the maker stays in float.
    """
    clips = graph.readers.get(name, ())
    if len(clips) != 1 or clips[0].op_type not in _CLIPS or clips[0].output[0] in graph.kept:
        return False
    readers = graph.readers.get(clips[0].output[0], ())
    return [each.op_type for each in readers] == ["QuantizeLinear"]


def _is_within(graph: Graph, quantize: Any, names: list[str]) -> bool:
    """Tell whether the range of a QuantizeLinear lies within bounds."""
    scale, point = graph.encoding(quantize)
    ends = [np.float32(0) if name is _ZERO else graph.constants.get(name) for name in names]
    if scale is None or point is None or point.dtype.kind not in "iu":
        return False
    if scale.size != 1 or point.size != 1:
        return False
    for name, end, sign in zip(names, ends, (1, -1), strict=True):
        if not name:
            continue
        if end is None or end.size != 1 or np.isnan(end).any():
            return False
        info = np.iinfo(point.dtype)
        reached = np.rint(np.float32(end.item()) / np.float32(scale.item())) + int(point.item())
        if sign * (reached - (info.min if sign > 0 else info.max)) > 0:
            return False
    return True


def drop_identity(graph: Graph, node: Any) -> bool:
    """Drop an Identity or Dropout, unless it makes an output, as ONNX Runtime does.

    A Dropout drops values only for training; its second result is a mask.
    """
    trains, masks = any(node.input[2:]), any(name in graph.uses for name in node.output[1:])
    if not is_of_standard(node, "Dropout", "Identity") or trains or masks:
        return False
    if node.output[0] not in graph.kept:
        graph.read_instead(node.output[0], node.input[0])
        return True
    node.op_type = "Identity"
    del node.input[1:], node.output[1:], node.attribute[:]
    return False
