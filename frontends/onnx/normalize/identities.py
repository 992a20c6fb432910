"""Drops nodes that return their operand, and clips that quantizing makes superfluous."""

from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import attributes_of, is_of_standard
from qnn_ops.arithmetic.onnxruntime import is_within

_ENDS = {"Clip": np.array([-np.inf, np.inf]), "Relu": np.array([0, np.inf])}
"""By operator, the lowest and the highest number, unless an operand states it."""
_NUMBERS = 4
"""Scale, zero point and both ends."""


def drop_clip(graph: Graph, node: Any) -> bool:
    """Drop a Clip or Relu whose only reader, the node, quantizes to a range within its bounds.

    The maker of its data then has that reader, perhaps beside others.
    """
    is_quantizing = node.op_type == "QuantizeLinear" and node.input
    clip = graph.maker(node.input[0], *_ENDS) if is_quantizing else None
    if clip is None or graph.uses[clip.output[0]] != 1:
        return False
    if _clips_nothing(graph, clip, node):
        graph.dropped.add(clip.output[0])
        node.input[0] = clip.input[0]
    return False


def is_clip_before_quantize(graph: Graph, name: str) -> bool:
    """Tell whether a tensor's only reader is a Clip or Relu whose only reader quantizes.

    ONNX Runtime first counts the maker of this tensor as quantized. Then it finds that the Clip
    changes values, so the maker stays in float.
    """
    clips = graph.readers.get(name, ())
    if len(clips) != 1 or clips[0].op_type not in _ENDS or clips[0].output[0] in graph.kept:
        return False
    readers = graph.readers.get(clips[0].output[0], ())
    return [each.op_type for each in readers] == ["QuantizeLinear"]


def _clips_nothing(graph: Graph, clip: Any, quantize: Any) -> bool:
    """Tell whether the range of a QuantizeLinear lies within the bounds of a Clip or Relu."""
    names, stated = [*clip.input[1:], "", ""][:2], attributes_of(clip)
    ends = [
        graph.constants.get(name) if name else np.asarray(stated.get(key, end))
        for name, key, end in zip(names, ("min", "max"), _ENDS[clip.op_type], strict=True)
    ]
    known = [each for each in (*graph.encoding(quantize), *ends) if each is not None]
    if len(known) < _NUMBERS or any(each.size != 1 for each in known):
        return False
    (scale, point, *bounds), dtype = [each.item() for each in known], known[1].dtype
    return dtype.kind in "iu" and is_within((scale, point, dtype.name), bounds)


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
