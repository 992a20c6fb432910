"""Rotary embeddings, ONNX Runtime's and the standard's, as simpler nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.normalizations import operands_of

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_OF_PLACES, _OF_TOKENS, _OF_HEADS = 2, 3, 4
"""The axes of tables by place, of data whose heads lie side by side, and of heads."""


@dataclass(frozen=True)
class Rotation:
    """What turns heads of [batch, tokens, heads, width].

    Attributes:
        cosines: by place, [places, half of what is turned], or of tokens, [batch, tokens, half].
        sines: likewise.
        is_interleaved: whether the two that are turned together are neighbours, not halves.
    """

    cosines: str
    sines: str
    is_interleaved: bool


def rotary_embedding(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a RotaryEmbedding.

    That of the standard has its places last, or has none where the tables are of tokens.
    """
    is_standard = node.domain != "com.microsoft"
    if is_standard:
        data, cosines, sines, places = operands_of(inputs, 3, 4)
    else:
        data, places, cosines, sines = operands_of(inputs, 4, 4)
    rank = len(groups.shape(cosines))
    if rank != (_OF_PLACES if places else _OF_TOKENS):
        raise UnsupportedError(f"cosines of {rank} axes")
    if attrs.get("is_packed_batching", 0):
        raise UnsupportedError("is_packed_batching is not imported")
    name, shape = f"{groups.prefix}{node.output[0]}", groups.shape(data)
    rotation = Rotation(cosines, sines, bool(attrs.get("interleaved", 0)))
    half = groups.shape(cosines)[-1]
    if len(shape) == _OF_HEADS:
        tokens, width, heads_axis = shape[2], shape[3], 1
    elif len(shape) == _OF_TOKENS:
        count = int(attrs.get("num_heads", 0)) or shape[2] // (2 * half)
        if not count or shape[2] % count:
            raise UnsupportedError(f"a width of {shape[2]} for {count} heads")
        tokens, width, heads_axis = shape[1], shape[2] // count, 2
        wide = groups.number((*shape[:2], count, width), np.int64)
        data = groups.node("Reshape", [data, wide], f"{name}_split")
    else:
        raise UnsupportedError(f"data of {len(shape)} axes")
    if not is_standard and groups.shape(places) == (1,):  # the place of the first token
        own = groups.number(np.arange(tokens)[None], np.int64)
        places = groups.node("Add", [places, own], f"{name}_places")
    turned = rotated(groups, name, rotation, data, places, (width, heads_axis))
    back = groups.number(shape, np.int64)
    groups.node("Reshape", [turned, back], node.output[0])


def rotated(
    groups: Groups,
    name: str,
    rotation: Rotation,
    data: str,
    places: str,
    layout: tuple[int, int],
) -> str:
    """Write rotated heads; each product is rounded before the sum.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        rotation: by place.
        data: of four axes, the last one a head's.
        places: of tokens, [batch, tokens]; empty where tables are of tokens.
        layout: the width of a head, and the axis of heads.
    """
    (width, heads_axis), half = layout, groups.shape(rotation.cosines)[-1]
    if 2 * half > width:
        raise UnsupportedError(f"{2 * half} numbers to turn in heads of {width}")
    factors = []
    for kind, table in (("cosines", rotation.cosines), ("sines", rotation.sines)):
        found = table
        if places:
            # The places of padding are not looked up there.
            found = groups.node("Gather", [table, places], f"{name}_{kind}_of", axis=0, nearest=1)
        factors.append(groups.unsqueezed(found, heads_axis, f"{name}_{kind}"))
    step = 2 if rotation.is_interleaved else 1
    starts = ((0, 2 * half), (1, 2 * half)) if step > 1 else ((0, half), (half, 2 * half))
    first, second = (
        _cut(groups, f"{name}_side_{place}", data, (*bounds, step))
        for place, bounds in enumerate(starts)
    )
    parts = []
    for op, one, other in (("Sub", first, second), ("Add", second, first)):
        products = [
            groups.node("Mul", [side, factor], f"{name}_{op}_{place}")
            for place, (side, factor) in enumerate(zip((one, other), factors, strict=True))
        ]
        parts.append(groups.node(op, products, f"{name}_{op}"))
    if step > 1:
        parts = [
            groups.unsqueezed(part, _OF_HEADS, f"{name}_pair_{place}")
            for place, part in enumerate(parts)
        ]
        pairs = groups.node("Concat", parts, f"{name}_pairs", axis=_OF_HEADS)
        shape = groups.number((0, 0, 0, -1), np.int64)
        parts = [groups.node("Reshape", [pairs, shape], f"{name}_turned")]
    if 2 * half < width:
        parts.append(_cut(groups, f"{name}_rest", data, (2 * half, width, 1)))
    return groups.node("Concat", parts, f"{name}_rotated", axis=3)


def _cut(groups: Groups, name: str, data: str, bounds: tuple[int, int, int]) -> str:
    """Return numbers of heads, from the first to before the last, by steps."""
    start, end, step = (groups.number([bound], np.int64) for bound in bounds)
    axis = groups.number([3], np.int64)
    return groups.node("Slice", [data, start, end, axis, step], name)
