"""Results whose length the data decide: tensors of the largest length, and a count of valid rows.

Operators that handle rows independently give results of this kind again; other operators are
refused. Rows beyond the count are computed from index 0 and have no meaning.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import attributes_of, numbers_of, refuse
from frontends.onnx.read.package import onnx_package
from frontends.onnx.read.standard import BROADCASTING, REDUCING, UNARY

Attributes = dict[str, Any]

COUNT = "_count"
"""The suffix of the name of the output that counts another output's rows."""
_MOST = 1 << 31
_OF_ONE_AXIS = 13
"""The first operator set in which Softmax has one axis."""

_ELEMENTWISE = (*BROADCASTING, *UNARY, "DequantizeFloat8", "QuantizeFloat8")


@dataclass
class _Rows:
    """The tensors whose lengths the data decide.

    Attributes:
        graph: the model.
        shapes: of all tensors; None for a size that is not known.
        lengths: the axis and the name of the count of each of these tensors.
    """

    graph: Graph
    shapes: Mapping[str, tuple[int | None, ...]]
    lengths: dict[str, tuple[int, str]]

    def rank(self, name: str) -> int:
        """Return how many axes a tensor has."""
        if name not in self.shapes:
            raise UnsupportedError(f"the shape of {name!r} must be known")
        return len(self.shapes[name])

    def numbers(self, node: Any, index: int, given: Any = None) -> list[int] | None:
        """Return the numbers of a constant operand, or of ``given`` if the operand is missing."""
        if index >= len(node.input) or not node.input[index]:
            return None if given is None else [int(each) for each in given]
        return [int(each) for each in self.graph.value(node.input[index]).reshape(-1)]


def add_counts(graph: Graph) -> None:
    """Add the counts of lengths that the data decide, and make them results of the model.

    Args:
        graph: a graph with shapes.

    Raises:
        UnsupportedOperatorError: operators do not read results of this kind row by row.
    """
    if not any(_makes(node, graph.constants) for node in graph.node):
        return
    rows, given = _Rows(graph, _shapes(graph), {}), [*graph.node]
    refused = {}
    for number, node in enumerate(graph.rewritten()):
        try:
            _add(rows, node, attributes_of(node))
        except UnsupportedError as error:
            refused[number] = str(error)
    refuse(given, refused)
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    make = onnx_package().helper.make_tensor_value_info
    for value in [*graph.output]:
        if value.name in rows.lengths:
            name = f"{value.name}{COUNT}"
            while name in taken:
                name += "_"
            graph.add("Identity", rows.lengths[value.name][1], output=name)
            graph.output.append(make(name, onnx_package().TensorProto.INT64, [1]))
    graph.find_types()


def _makes(node: Any, constants: Container[str]) -> bool:
    """Tell whether the data decide the length of a node's result."""
    if node.op_type == "Compress":
        return node.input[1] not in constants
    return node.op_type in ("NonMaxSuppression", "NonZero")


def _shapes(graph: Graph) -> dict[str, tuple[int | None, ...]]:
    found: dict[str, tuple[int | None, ...]] = {
        name: graph.constants.shape(name) for name in graph.constants
    }
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            found[value.name] = tuple(numbers_of(value))
    return found


def _add(rows: _Rows, node: Any, attributes: Attributes) -> None:
    """Add a node, and derive the lengths of its results from those of its operands."""
    indices = [index for index, name in enumerate(node.input) if name in rows.lengths]
    rows.graph.node.append(node)
    made = _makes(node, rows.graph.constants)
    if not indices and not made:
        return
    if made and not indices:
        axis = {"NonMaxSuppression": 0, "NonZero": 1}.get(node.op_type, 0)
        if node.op_type == "Compress" and "axis" in attributes:
            axis = int(attributes["axis"]) % rows.rank(node.input[0])
        count = f"{node.output[0]}{COUNT}_here"
        node.output.append(count)
        rows.lengths[node.output[0]] = axis, count
        return
    name = node.input[indices[0]]
    axis, count = rows.lengths[name]
    try:
        several = {rows.lengths[node.input[index]] for index in indices} - {(axis, count)}
        if several and node.op_type not in _ELEMENTWISE:
            raise UnsupportedError("of several lengths")
        found = _RULES[node.op_type](rows, node, attributes, indices, axis)
    except (KeyError, UnsupportedError) as error:
        why = f": {error}" if isinstance(error, UnsupportedError) else ""
        raise UnsupportedError(
            f"the data decide how long axis {axis} of {name!r} is, and this is not imported of "
            f"such tensors{why}; end the model before it"
        ) from None
    if node.op_type == "Slice":
        count = _sliced(rows, node, attributes, axis, count)
    for output in node.output:
        rows.lengths[output] = found, count


Rule = Callable[[_Rows, Any, Attributes, Sequence[int], int], int]
"""``rule(rows, node, attributes, indices, axis)`` returns the axis of the result.

``indices`` are the indices of the operands whose length along ``axis`` the data decide.
"""


def _elementwise(rows: _Rows, node: Any, _: Attributes, indices: Sequence[int], axis: int) -> int:
    ranks = {name: rows.rank(name) for name in node.input if name}
    most = max(ranks.values())
    result = axis + most - ranks[node.input[indices[0]]]
    count = rows.lengths[node.input[indices[0]]][1]
    for index, name in enumerate(node.input):
        own = result - most + ranks.get(name, 0)
        if index in indices:
            if rows.lengths[name] != (own, count):
                raise UnsupportedError("of several lengths")
        elif name and own >= 0 and rows.shapes[name][own] != 1:
            raise UnsupportedError(f"{name!r} has a row for each")
    return result


def _gather(
    rows: _Rows, node: Any, attributes: Attributes, indices: Sequence[int], axis: int
) -> int:
    data, chosen = (rows.rank(name) for name in node.input)
    along = int(attributes.get("axis", 0)) % data
    if list(indices) == [1]:
        return along + axis
    if list(indices) != [0] or axis == along:
        raise UnsupportedError("rows by their numbers")
    return axis if axis < along else axis - 1 + chosen


def _gather_nd(
    rows: _Rows, node: Any, attributes: Attributes, indices: Sequence[int], axis: int
) -> int:
    if (
        list(indices) != [1]
        or attributes.get("batch_dims", 0)
        or axis == rows.rank(node.input[1]) - 1
    ):
        raise UnsupportedError("rows by their numbers")
    return axis


def _squeeze(rows: _Rows, node: Any, attributes: Attributes, _: Sequence[int], axis: int) -> int:
    axes = rows.numbers(node, 1, attributes.get("axes"))
    if axes is None:
        raise UnsupportedError("its axes must be given")
    gone = [each % rows.rank(node.input[0]) for each in axes]
    if axis in gone:
        raise UnsupportedError("along this axis")
    return axis - sum(each < axis for each in gone)


def _unsqueeze(rows: _Rows, node: Any, attributes: Attributes, _: Sequence[int], axis: int) -> int:
    axes = rows.numbers(node, 1, attributes.get("axes")) or []
    rank = rows.rank(node.input[0]) + len(axes)
    new = {each % rank for each in axes}
    return [each for each in range(rank) if each not in new][axis]


def _transpose(rows: _Rows, node: Any, attributes: Attributes, _: Sequence[int], axis: int) -> int:
    order = attributes.get("perm") or list(reversed(range(rows.rank(node.input[0]))))
    return list(order).index(axis)


def _along_another(
    rows: _Rows, node: Any, attributes: Attributes, indices: Sequence[int], axis: int
) -> int:
    """Concat and Split along another axis keep the rows."""
    if int(attributes.get("axis", 0)) % rows.rank(node.input[0]) == axis:
        raise UnsupportedError("along this axis")
    if node.op_type == "Concat" and len(indices) < len(node.input):
        raise UnsupportedError("with tensors of another length")
    return axis


def _slice(rows: _Rows, node: Any, _: Attributes, indices: Sequence[int], axis: int) -> int:
    """Keep all rows along the axis, or a number of first rows."""
    if list(indices) != [0]:
        raise UnsupportedError("by such numbers")
    found = _end(rows, node, axis)
    if found is not None and found < 0:
        raise UnsupportedError("other rows than the first ones")
    return axis


def _end(rows: _Rows, node: Any, axis: int) -> int | None:
    """Return how many first rows a Slice keeps; None for all rows, -1 for any other selection."""
    begins, ends, axes, steps = (rows.numbers(node, index) for index in range(1, 5))
    if begins is None or ends is None:
        raise UnsupportedError("its numbers must be operands")
    rank = rows.rank(node.input[0])
    axes = [each % rank for each in (axes or range(len(begins)))]
    if axis not in axes:
        return None
    index = axes.index(axis)
    if begins[index] or ends[index] < 0 or (steps or [1] * len(begins))[index] != 1:
        return -1
    return ends[index] if ends[index] < _MOST - 1 else None


def _sliced(rows: _Rows, node: Any, _: Attributes, axis: int, count: str) -> str:
    """Return the name of the count of the rows that a Slice keeps."""
    end = _end(rows, node, axis)
    if end is None:
        return count
    return rows.graph.add("Min", count, [end], output=f"{node.output[0]}{COUNT}_here")


def _reshape(rows: _Rows, node: Any, attributes: Attributes, _: Sequence[int], axis: int) -> int:
    shape, target = rows.shapes.get(node.input[0], ()), rows.numbers(node, 1)
    sides = [
        [each for each in part if each is not None] for part in (shape[:axis], shape[axis + 1 :])
    ]
    if target is None or len(shape) - 1 > sum(map(len, sides)) or attributes.get("allowzero", 0):
        raise UnsupportedError("to a shape that does not keep it")
    sizes = [(shape[n] or 1) if not each and n != axis else each for n, each in enumerate(target)]
    for index, each in enumerate(target):
        around = sizes[:index], sizes[index + 1 :]
        is_open = each == -1 or (each == 0 and index == axis)
        if is_open and [prod(part) for part in around] == [prod(part) for part in sides]:
            return index
    raise UnsupportedError("to a shape that does not keep it")


def _reduced(rows: _Rows, node: Any, attributes: Attributes, _: Sequence[int], axis: int) -> int:
    given = attributes.get("axes")
    if node.op_type.startswith("Arg"):
        given = [attributes.get("axis", 0)]
    rank = rows.rank(node.input[0])
    gone = [each % rank for each in rows.numbers(node, 1, given) or range(rank)]
    if axis in gone:
        raise UnsupportedError("along this axis")
    return axis if attributes.get("keepdims", 1) else axis - sum(each < axis for each in gone)


def _softmax(rows: _Rows, node: Any, attributes: Attributes, _: Sequence[int], axis: int) -> int:
    along = int(attributes.get("axis", -1)) % rows.rank(node.input[0])
    if along == axis or rows.graph.opset < _OF_ONE_AXIS:
        raise UnsupportedError("along this axis")
    return axis


_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys((*REDUCING, "ArgMax", "ArgMin"), _reduced),
    "Concat": _along_another,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Reshape": _reshape,
    "Slice": _slice,
    "Softmax": _softmax,
    "Split": _along_another,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""By the name of the operator."""
