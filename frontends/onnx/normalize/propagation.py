"""Operators that ONNX Runtime moves quantization over, and others that it does not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from frontends.onnx.graph.graph import Graph

_STAYING = {"DepthToSpace", "Expand", "Flatten", "SpaceToDepth", "Tile"}
"""What moves values about, as integers only where it stands in a group by itself."""

_FLOAT = 1
"""float32 among the numbers of element types."""


def move_quantization(graph: Graph) -> None:
    """Write pairs around MaxPool as ONNX Runtime does, and a Cast where it keeps floats.

    A Cast of float32 to float32 changes nothing: no group reaches over it.
    """
    writer = _Writer(graph)
    for node in graph.rewritten():
        writer.write(node)


class _Writer:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.kept = graph, {*graph.kept}
        self.made, self.readers = graph.makers(), graph.readers()
        self.count: Counter[str] = Counter()

    def write(self, node: Any) -> None:
        """Add a node, and what belongs before or after it."""
        if node.op_type == "Add":
            self._keep_convolution(node)
        is_pool, stays = node.op_type == "MaxPool", node.op_type in _STAYING
        if not (is_pool or stays) or self.graph.kinds.get(node.input[0]) != _FLOAT:
            self.graph.node.append(node)
            return
        before, after = self._kind(node.input[0]), self._next(node.output[0])
        if is_pool and before != "DequantizeLinear" and after is not None:
            if self._next(node.input[0]) is None and self._is_read_once(node.input[0]):
                pair = self._pair(node.input[0], list(after.input[1:]))
                node.input[0] = pair
        elif is_pool and before == "DequantizeLinear" and after is None:
            encoding = list(self.made[node.input[0]].input[1:])
            output, node.output[0] = node.output[0], self._fresh(node.output[0])
            self.graph.node.append(node)
            self._pair(node.output[0], encoding, output)
            return
        elif stays and before != "DequantizeLinear":
            node.input[0] = self._cast(node.input[0])
        if stays and after is None:
            output, node.output[0] = node.output[0], self._fresh(node.output[0])
            self.graph.node.append(node)
            self._cast(node.output[0], output)
            return
        self.graph.node.append(node)

    def _keep_convolution(self, node: Any) -> None:
        """Keep a Conv in float whose result a constant is added to."""
        for place, name in enumerate(node.input):
            other = node.input[1 - place]
            if self._kind(name) == "Conv" and other in self.graph.constants:
                node.input[place] = self._cast(name)

    def _kind(self, name: str) -> str:
        return self.made[name].op_type if name in self.made else ""

    def _is_read_once(self, name: str) -> bool:
        return len(self.readers.get(name, [])) == 1 and name not in self.kept

    def _next(self, name: str) -> Any:
        """Return the QuantizeLinear that is a tensor's only reader, or None."""
        readers = self.readers.get(name, [])
        is_one = self._is_read_once(name) and readers[0].op_type == "QuantizeLinear"
        return readers[0] if is_one else None

    def _fresh(self, name: str) -> str:
        self.count[name] += 1
        return f"{self.graph.prefix}{name}_{self.count[name]}_kept"

    def _cast(self, name: str, output: str = "") -> str:
        return self.graph.add("Cast", name, output=output or self._fresh(name), to=_FLOAT)

    def _pair(self, name: str, encoding: list[str], output: str = "") -> str:
        middle = self.graph.add("QuantizeLinear", name, *encoding, output=self._fresh(name))
        output = output or self._fresh(name)
        return self.graph.add("DequantizeLinear", middle, *encoding, output=output)
