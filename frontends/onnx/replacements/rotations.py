"""Rotary embeddings, ONNX Runtime's and the standard's, as simpler nodes."""

from dataclasses import dataclass

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.replacements.heads import OF_HEADS, OF_TOKENS
from frontends.onnx.replacements.registry import Call, rule

_OF_POSITIONS = 2
"""The number of axes of tables by position."""


@dataclass(frozen=True)
class Rotation:
    """The tables that rotate heads, and the layout of the heads.

    Attributes:
        graph: the model.
        cosines: by position, [positions, half of the rotated width], or by token, [batch, tokens,
            half].
        sines: in the shape of the cosines.
        is_interleaved: whether pairs that are rotated together are neighbours; otherwise they come
            from two halves.
        width: of a head, the last of the data's four axes.
        axis: of heads.
    """

    graph: Graph
    cosines: str
    sines: str
    is_interleaved: bool
    width: int
    axis: int

    def turned(self, data: str, positions: str) -> str:
        """Write rotated heads; each product is rounded before the sum.

        Args:
            data: a tensor of four axes.
            positions: of tokens, [batch, tokens]; empty if the tables are by token.
        """
        graph, half = self.graph, self.graph.shape(self.cosines)[-1]
        if 2 * half > self.width:
            raise UnsupportedError(f"{2 * half} numbers to turn in heads of {self.width}")
        factors = []
        for table in (self.cosines, self.sines):
            # ONNX Runtime does not look up the positions of padding.
            found = graph.add("Gather", table, positions, axis=0, nearest=1) if positions else table
            factors.append(graph.unsqueezed(found, self.axis))
        cosines, sines = factors
        if self.is_interleaved:
            first, second = (self._cut(data, start, 2 * half, 2) for start in (0, 1))
        else:
            first, second = (self._cut(data, start, start + half) for start in (0, half))
        parts = []
        for op, one, other in (("Sub", first, second), ("Add", second, first)):
            products = graph.add("Mul", one, cosines), graph.add("Mul", other, sines)
            parts.append(graph.add(op, *products))
        if self.is_interleaved:
            pairs = [graph.unsqueezed(part, OF_HEADS) for part in parts]
            whole = graph.add("Concat", *pairs, axis=OF_HEADS)
            parts = [graph.add("Reshape", whole, (0, 0, 0, -1))]
        if 2 * half < self.width:
            parts.append(self._cut(data, 2 * half, self.width))
        return graph.add("Concat", *parts, axis=3)

    def _cut(self, data: str, start: int, end: int, step: int = 1) -> str:
        """Return elements of heads, from ``start`` to before ``end``, by steps."""
        return self.graph.add("Slice", data, [start], [end], [3], [step])


@rule("RotaryEmbedding")
def _rotary_embedding(call: Call) -> None:
    """Write a RotaryEmbedding.

    The standard's operator has its positions last, or has none if its tables are by token.
    """
    graph, is_standard = call.graph, call.node.domain != "com.microsoft"
    if is_standard:
        data, cosines, sines, positions = call.operands(3, 4)
    else:
        data, positions, cosines, sines = call.operands(4, 4)
    rank = len(graph.shape(cosines))
    if rank != (_OF_POSITIONS if positions else OF_TOKENS):
        raise UnsupportedError(f"cosines of {rank} axes")
    if call.integer("is_packed_batching"):
        raise UnsupportedError("is_packed_batching is not imported")
    shape = graph.shape(data)
    half = graph.shape(cosines)[-1]
    if len(shape) == OF_HEADS:
        tokens, width, heads_axis = shape[2], shape[3], 1
    elif len(shape) == OF_TOKENS:
        count = call.integer("num_heads") or shape[2] // (2 * half)
        if not count or shape[2] % count:
            raise UnsupportedError(f"a width of {shape[2]} for {count} heads")
        tokens, width, heads_axis = shape[1], shape[2] // count, 2
        data = graph.add("Reshape", data, (*shape[:2], count, width))
    else:
        raise UnsupportedError(f"data of {len(shape)} axes")
    if not is_standard and graph.shape(positions) == (1,):  # the position of the first token
        positions = graph.add("Add", positions, np.arange(tokens)[None])
    is_interleaved = bool(call.integer("interleaved"))
    rotation = Rotation(graph, cosines, sines, is_interleaved, width, heads_axis)
    call.end("Reshape", rotation.turned(data, positions), shape)
