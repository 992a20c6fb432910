"""Unrolling of Loop and Scan whose number of iterations is known at import."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from frontends.bounds import check_iterations
from frontends.errors import ModelFormatError, UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.subgraphs import inline, prepared
from frontends.onnx.read.constants import move_constants
from frontends.onnx.read.names import (
    all_nodes,
    copied,
    graph_of,
    is_of_standard,
    onnx_package,
    refuse,
)
from frontends.onnx.read.standard import FLOAT

_MOST_NODES, _MOST_BYTES = 2048, 1 << 24
"""The most nodes, and bytes of constants, of an unrolled model."""


def unroll(graph: Graph, typed: Graph, constants: Mapping[str, Any]) -> bool:
    """Replace Loop and Scan by their iterations.

    Args:
        graph: the model.
        typed: the same model with shapes.
        constants: of the model, and values that follow from shapes.

    Returns:
        Whether a Loop or Scan was replaced.

    Raises:
        ModelFormatError: a body is malformed.
        UnsupportedOperatorError: a loop has too many iterations.
    """
    writer = _Writer(graph, typed, constants)
    rules = {"Loop": writer.loop, "Scan": writer.scan}
    return graph.apply(lambda _, node: is_of_standard(node, *rules) and rules[node.op_type](node))


class _Writer:
    def __init__(self, graph: Graph, typed: Graph, constants: Mapping[str, Any]) -> None:
        self.graph, self.typed, self.constants = graph, typed, constants

    def loop(self, node: Any) -> bool:
        """Write the iterations of a Loop; tell whether they are known and few."""
        body, count, condition = _body(node), str(node.input[0]), str(node.input[1])
        carried = [str(name) for name in node.input[2:]]
        if len(body.input) != len(node.input) or len(body.output) <= len(carried):
            raise ModelFormatError(f"the Loop of {node.output[0]!r} has a body of other operands")
        trips = self.constants.get(count)
        begins = self.constants.get(condition) if condition else np.array(True)
        if trips is None or begins is None or not self._goes_on(body):
            return False
        if trips.size != 1 or trips.dtype.kind not in "iu":
            return False
        iterations = max(int(trips.item()), 0) if begins.all() else 0
        try:
            check_iterations(iterations)
        except UnsupportedError as error:
            refuse([node], {0: str(error)})
        has_lists = len(body.output) > len(carried) + 1
        if not self._is_small(body, iterations) or (iterations == 0 and has_lists):
            return False
        stem, names = self._stem(node), [*carried]
        body = prepared(self.graph, body, self.typed, stem)
        lists: list[list[str]] = [[] for _ in body.output[len(carried) + 1 :]]
        true = self.graph.constant(np.array(True), f"{stem}true")
        for iteration in range(iterations):
            at = self.graph.constant(iteration, f"{stem}{iteration}")
            names = self._iteration(f"{stem}{iteration}_", body, [at, true, *names], lists, first=1)
        self._end(node, names, lists, [0] * len(lists))
        return True

    def _goes_on(self, body: Any) -> bool:
        """Tell whether an iteration returns the condition that it got, or true."""
        made = {node.output[0]: node for node in body.node if len(node.output) == 1}
        name = body.output[0].name
        while name in made and is_of_standard(made[name], "Identity"):
            name = made[name].input[0]
        if name == body.input[1].name:
            return True
        inner = {tensor.name: tensor for tensor in body.initializer}
        if name in inner:
            return bool(onnx_package().numpy_helper.to_array(inner[name]).all())
        return name in self.constants and bool(self.constants[name].all())

    def scan(self, node: Any) -> bool:
        """Write the iterations of a Scan; tell whether they are known and few."""
        body, attributes = _body(node), {each.name: each for each in node.attribute}
        if "num_scan_inputs" not in attributes:
            raise ModelFormatError(f"the Scan of {node.output[0]!r} has no num_scan_inputs")
        begin = len(node.input) - attributes["num_scan_inputs"].i
        if not 0 <= begin < len(node.input) or len(body.input) != len(node.input):
            raise ModelFormatError(f"the Scan of {node.output[0]!r} has a body of other operands")
        names, sequences = [*node.input[:begin]], [*node.input[begin:]]

        def whole(name: str, count: int) -> list[int]:
            given = [*attributes[name].ints] if name in attributes else []
            return given if len(given) == count else [0] * count

        axes = whole("scan_input_axes", len(sequences))
        backward = whole("scan_input_directions", len(sequences))
        sizes = set()
        for name, axis in zip(sequences, axes, strict=True):
            shape = self.typed.shapes.get(name)
            if shape is None or axis not in range(-len(shape), len(shape)):
                return False
            sizes.add(shape[axis])
        iterations = max(sizes)
        if len(sizes) != 1 or not iterations or not self._is_small(body, iterations):
            return False
        stem = self._stem(node)
        body = prepared(self.graph, body, self.typed, stem)
        lists: list[list[str]] = [[] for _ in body.output[begin:]]
        for iteration in range(iterations):
            rows = []
            for index, name in enumerate(sequences):
                at = iterations - 1 - iteration if backward[index] else iteration
                row = f"{stem}{iteration}_{index}_row"
                rows.append(self.graph.add("Gather", name, at, output=row, axis=axes[index]))
            names = self._iteration(f"{stem}{iteration}_", body, [*names, *rows], lists, first=0)
        for index, is_backward in enumerate(whole("scan_output_directions", len(lists))):
            lists[index] = lists[index][::-1] if is_backward else lists[index]
        self._end(node, names, lists, whole("scan_output_axes", len(lists)))
        return True

    def _is_small(self, body: Any, iterations: int) -> bool:
        of_one = len([*all_nodes(body)]) + len(body.input) + len(body.output)
        nodes = len(self.graph.node) + iterations * of_one
        constants = sum(tensor.ByteSize() for tensor in body.initializer)
        return nodes <= _MOST_NODES and iterations * (body.ByteSize() - constants) <= _MOST_BYTES

    def _iteration(
        self, stem: str, body: Any, given: Sequence[str], lists: list[list[str]], first: int
    ) -> list[str]:
        """Add an iteration; return the carried tensors, append other results to the lists."""
        operands = {}
        for value, name in zip(body.input, given, strict=True):
            is_float = value.type.tensor_type.elem_type == FLOAT
            own = f"{stem}in_{value.name}"
            operands[value.name] = self.graph.apart(name, own) if is_float else name
        results = {index: f"{stem}result_{index}" for index in range(first, len(body.output))}
        inline(self.graph, body, f"{stem}in_", operands, results)
        found = [*results.values()]
        carried = len(found) - len(lists)
        for names, name in zip(lists, found[carried:], strict=True):
            names.append(name)
        return found[:carried]

    def _end(
        self, node: Any, names: Sequence[str], lists: Sequence[list[str]], axes: Sequence[int]
    ) -> None:
        """Add nodes that make the results of the Loop or Scan."""
        for output, name in zip(node.output, names, strict=False):
            if output:
                self.graph.add("Identity", name, output=output)
        for output, parts, axis in zip(node.output[len(names) :], lists, axes, strict=False):
            if not output:
                continue
            wide = [self.graph.unsqueezed(part, axis, f"{part}_wide") for part in parts]
            self.graph.add("Concat", *wide, output=output, axis=axis)

    def _stem(self, node: Any) -> str:
        return f"{self.graph.prefix}{next(filter(None, node.output), '')}_"


def _body(node: Any) -> Any:
    """Return a copy of a node's body, whose constants are all initializers."""
    if (found := graph_of(node, "body")) is None:
        raise ModelFormatError(f"the {node.op_type} of {node.output[0]!r} has no body")
    body = copied(found)
    move_constants(body)
    return body
