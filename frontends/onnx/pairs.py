"""Tensors that are quantized twice in a row: ONNX Runtime makes one range of the two."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from frontends.errors import UnsupportedOperatorError
from frontends.onnx.grouping import twice_quantized

Array = np.ndarray[Any, Any]


def with_single_pairs(
    nodes: list[Any], constants: Mapping[str, Array], kept: Iterable[str], prefix: str
) -> tuple[list[Any], dict[str, Array]]:
    """Replace two pairs of QuantizeLinear and DequantizeLinear by one, of what both can give.

    Two dtypes, and scales or zero points that are several, not stated or no constants, leave both
    pairs as they are. Of more pairs in a row the first two come first, then these and the third;
    but a pair that gives back the bytes which it gets goes in between, and ends the row.

    Args:
        nodes: of a model; their operands are renamed.
        constants: of it, by name.
        kept: the names of its outputs, each a use more.
        prefix: of names that no tensor has.

    Returns:
        The nodes that are left, and constants that are new.

    Raises:
        UnsupportedOperatorError: both ranges have nothing but 0 in common.
    """
    added: dict[str, Array] = {}
    kept, dropped = list(kept), {0}
    while dropped:
        dropped = _joined(nodes, ChainMap(added, dict(constants)), kept, prefix)
        nodes = [node for number, node in enumerate(nodes) if number not in dropped]
        if dropped:
            nodes = _without_copies(nodes, ChainMap(added, dict(constants)), kept)
    return nodes, added


def _without_copies(
    nodes: list[Any], constants: Mapping[str, Array], kept: Iterable[str]
) -> list[Any]:
    """Drop each QuantizeLinear that only a DequantizeLinear of the same encoding leads to."""
    made = {name: node for node in nodes for name in node.output}
    source: dict[str, str] = {}
    for node in nodes:
        before = made.get(node.input[0]) if node.op_type == "QuantizeLinear" else None
        if before is None or before.op_type != "DequantizeLinear" or node.output[0] in kept:
            continue
        encoding = _encoding(node, constants)
        if encoding is not None and encoding == _encoding(before, constants):
            source[node.output[0]] = before.input[0]
    for node in nodes:
        if node.op_type == "DequantizeLinear" and node.input[0] in source:
            node.input[0] = source[node.input[0]]
    used = {*kept, *(name for node in nodes for name in node.input)}
    return [node for node in nodes if node.output[0] not in source or node.output[0] in used]


def _joined(
    nodes: list[Any], constants: ChainMap[str, Array], kept: Iterable[str], prefix: str
) -> set[int]:
    """Make one of two pairs, of each row of pairs but once; return the nodes that nothing needs."""
    made = {name: number for number, node in enumerate(nodes) for name in node.output}
    dropped, used = set[int](), set[int]()
    chains = twice_quantized(nodes, made, kept)
    for chain in sorted(chains, key=lambda chain: chain[1]):
        first, inner, second, last = chain
        one, other = (_encoding(nodes[each], constants) for each in (first, second))
        if one is None or other is None or one[2] != other[2]:
            continue
        if (one, other) != tuple(_encoding(nodes[each], constants) for each in (inner, last)):
            continue
        is_later = not used.isdisjoint(chain)
        used.update(chain)
        if is_later:
            continue
        lasts = [node for node in nodes if _are_alike(node, nodes[last])]
        if one != other:
            names = [f"{prefix}{part}_{len(constants.maps[0])}" for part in ("scale", "point")]
            common = _common(one, other)
            if not common[0] > 0:
                reason = "its tensor was quantized before, by a range that has only 0 in common"
                found = (second, nodes[second].op_type, reason, list(nodes[second].output))
                raise UnsupportedOperatorError([found])
            constants.update(zip(names, common, strict=True))
            for node in (nodes[first], *lasts):
                node.input[1], node.input[2] = names
        for node in lasts:
            node.input[0] = nodes[first].output[0]
        dropped |= {inner, second}
    return dropped


def _are_alike(node: Any, other: Any) -> bool:
    return bool(node.op_type == other.op_type and node.input[:] == other.input[:])


def _encoding(node: Any, constants: Mapping[str, Array]) -> tuple[float, int, str] | None:
    """Return scale, zero point and dtype, if they are constants of a whole tensor."""
    if len(node.input) != 3:
        return None
    scale, point = (constants.get(name) for name in node.input[1:])
    if scale is None or point is None or scale.size != 1 or point.size != 1 or scale.ndim > 1:
        return None
    if scale.dtype != np.float32 or point.dtype.kind not in "iu":
        return None
    return float(scale.item()), int(point.item()), point.dtype.name


def _common(*encodings: tuple[float, int, str]) -> tuple[Array, Array]:
    """Return scale and zero point of the range that two encodings share."""
    info = np.iinfo(encodings[0][2])
    lows, highs = (
        [np.float32(end - point) * np.float32(scale) for scale, point, _ in encodings]
        for end in (info.min, info.max)
    )
    low, high = max(lows), min(highs)
    if not high > low:
        return np.zeros((), np.float32), np.zeros((), encodings[0][2])
    scale = np.float32((high - low) / np.float32(info.max - info.min))
    place = np.float32(np.float32(info.min) - np.float32(low / scale))
    point = np.trunc(place + np.copysign(np.float32(0.5), place))
    return np.asarray(scale), np.asarray(point).astype(encodings[0][2])
