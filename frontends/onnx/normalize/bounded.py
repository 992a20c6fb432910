"""Results whose length the data decide: tensors of the largest length, and a count of valid rows.

Operators that handle rows independently give results of this kind again; other operators are
refused. Rows beyond the count are computed from index 0 and have no meaning.
"""

from collections.abc import Callable, Container, Mapping
from math import prod
from typing import Any

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.names import attributes_of, numbers_of, onnx_package, refuse
from frontends.onnx.read.standard import BROADCASTING, REDUCING, UNARY

COUNT = "_count"
"""The suffix of the name of the output that counts another output's rows."""
_MOST = 1 << 31
_OF_ONE_AXIS = 13
"""The first operator set in which Softmax has one axis."""

_ELEMENTWISE = (*BROADCASTING, *UNARY, "DequantizeFloat8", "QuantizeFloat8")


Shapes = Mapping[str, tuple[int | None, ...]]
Lengths = dict[str, tuple[int, str]]
"""The axis and the name of the count of each tensor whose length the data decide, by its name."""


class _Call:
    """A node, perhaps with operands whose lengths the data decide.

    Attributes:
        shapes: of all tensors; None for a size that is not known.
        indices: of the operands whose lengths the data decide.
        first: the first of these operands; empty if there is none.
        axis: along which the data decide its length.
        count: the name of the count of its rows.
    """

    def __init__(self, graph: Graph, node: Any, shapes: Shapes, lengths: Lengths) -> None:
        self.graph, self.node, self.shapes, self.lengths = graph, node, shapes, lengths
        self.attributes = attributes_of(node)
        self.indices = [index for index, name in enumerate(node.input) if name in lengths]
        self.first = str(node.input[self.indices[0]]) if self.indices else ""
        self.axis, self.count = lengths.get(self.first, (0, ""))

    def rank(self, index: int = 0) -> int:
        """Return how many axes an operand has."""
        name = self.node.input[index]
        if name not in self.shapes:
            raise UnsupportedError(f"the shape of {name!r} must be known")
        return len(self.shapes[name])

    def along(self, default: int) -> int:
        """Return the attribute "axis", counted from the first axis."""
        return int(self.attributes.get("axis", default)) % self.rank()

    def numbers(self, index: int, given: Any = None) -> list[int] | None:
        """Return the numbers of a constant operand, or of ``given`` if the operand is missing."""
        if index >= len(self.node.input) or not self.node.input[index]:
            return None if given is None else [int(each) for each in given]
        return [int(each) for each in self.graph.value(self.node.input[index]).reshape(-1)]


def add_counts(graph: Graph) -> None:
    """Add the counts of lengths that the data decide, and make them results of the model.

    Args:
        graph: a graph with shapes.

    Raises:
        UnsupportedOperatorError: operators do not read results of this kind row by row.
    """
    if not any(_makes(node, graph.constants) for node in graph.node):
        return
    lengths: Lengths = {}
    shapes, given, refused = _shapes(graph), [*graph.node], {}
    for number, node in enumerate(graph.rewritten()):
        try:
            _add(_Call(graph, node, shapes, lengths))
        except UnsupportedError as error:
            refused[number] = str(error)
    refuse(given, refused)
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    make = onnx_package().helper.make_tensor_value_info
    for value in [*graph.output]:
        if value.name in lengths:
            name = f"{value.name}{COUNT}"
            while name in taken:
                name += "_"
            graph.add("Identity", lengths[value.name][1], output=name)
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


def _add(call: _Call) -> None:
    """Add a node, and derive the lengths of its results from those of its operands."""
    graph, node, lengths = call.graph, call.node, call.lengths
    graph.node.append(node)
    if not call.indices:
        if _makes(node, graph.constants):
            axis = {"NonMaxSuppression": 0, "NonZero": 1}.get(node.op_type, 0)
            if node.op_type == "Compress" and "axis" in call.attributes:
                axis = call.along(0)
            count = f"{node.output[0]}{COUNT}_here"
            node.output.append(count)
            lengths[node.output[0]] = axis, count
        return
    axis, count = call.axis, call.count
    try:
        several = len({lengths[node.input[index]] for index in call.indices}) > 1
        if several and node.op_type not in _ELEMENTWISE:
            raise UnsupportedError("of several lengths")
        found = _RULES[node.op_type](call)
    except (KeyError, UnsupportedError) as error:
        why = f": {error}" if isinstance(error, UnsupportedError) else ""
        raise UnsupportedError(
            f"the data decide how long axis {axis} of {call.first!r} is, and this is not imported "
            f"of such tensors{why}; end the model before it"
        ) from None
    if node.op_type == "Slice" and (end := _end(call)) is not None:
        count = graph.add("Min", count, [end], output=f"{node.output[0]}{COUNT}_here")
    for output in node.output:
        lengths[output] = found, count


Rule = Callable[[_Call], int]
"""``rule(call)`` returns the axis of the result whose length the data decide."""


def _elementwise(call: _Call) -> int:
    names, shapes = call.node.input, call.shapes
    ranks = {name: call.rank(index) for index, name in enumerate(names) if name}
    most = max(ranks.values())
    result = call.axis + most - ranks[call.first]
    for index, name in enumerate(names):
        own = result - most + ranks.get(name, 0)
        if index in call.indices:
            if call.lengths[name] != (own, call.count):
                raise UnsupportedError("of several lengths")
        elif name and own >= 0 and shapes[name][own] != 1:
            raise UnsupportedError(f"{name!r} has a row for each")
    return result


def _gather(call: _Call) -> int:
    along, axis, chosen = call.along(0), call.axis, call.rank(1)
    if call.indices == [1]:
        return along + axis
    if call.indices != [0] or axis == along:
        raise UnsupportedError("rows by their numbers")
    return axis if axis < along else axis - 1 + chosen


def _gather_nd(call: _Call) -> int:
    is_last = call.indices == [1] and call.axis == call.rank(1) - 1
    if call.indices != [1] or call.attributes.get("batch_dims", 0) or is_last:
        raise UnsupportedError("rows by their numbers")
    return call.axis


def _squeeze(call: _Call) -> int:
    axes = call.numbers(1, call.attributes.get("axes"))
    if axes is None:
        raise UnsupportedError("its axes must be given")
    return _without(call, [each % call.rank() for each in axes])


def _without(call: _Call, gone: list[int]) -> int:
    """Return the axis of a result that lacks some axes."""
    if call.axis in gone:
        raise UnsupportedError("along this axis")
    return call.axis - sum(each < call.axis for each in gone)


def _unsqueeze(call: _Call) -> int:
    axes = call.numbers(1, call.attributes.get("axes")) or []
    rank = call.rank() + len(axes)
    new = {each % rank for each in axes}
    return [each for each in range(rank) if each not in new][call.axis]


def _transpose(call: _Call) -> int:
    order = call.attributes.get("perm") or list(reversed(range(call.rank())))
    return list(order).index(call.axis)


def _along_another(call: _Call) -> int:
    """Concat and Split along another axis keep the rows."""
    if call.along(0) == call.axis:
        raise UnsupportedError("along this axis")
    if call.node.op_type == "Concat" and len(call.indices) < len(call.node.input):
        raise UnsupportedError("with tensors of another length")
    return call.axis


def _slice(call: _Call) -> int:
    """Keep all rows along the axis, or a number of first rows."""
    if call.indices != [0]:
        raise UnsupportedError("by such numbers")
    if (end := _end(call)) is not None and end < 0:
        raise UnsupportedError("other rows than the first ones")
    return call.axis


def _end(call: _Call) -> int | None:
    """Return how many first rows a Slice keeps; None for all rows, -1 for any other selection."""
    begins, ends, axes, steps = map(call.numbers, range(1, 5))
    if begins is None or ends is None:
        raise UnsupportedError("its numbers must be operands")
    axes = [each % call.rank() for each in (axes or range(len(begins)))]
    if call.axis not in axes:
        return None
    index = axes.index(call.axis)
    if begins[index] or ends[index] < 0 or (steps or [1] * len(begins))[index] != 1:
        return -1
    return ends[index] if ends[index] < _MOST - 1 else None


def _reshape(call: _Call) -> int:
    shape, target, axis = call.shapes.get(call.node.input[0], ()), call.numbers(1), call.axis
    sides = [
        [each for each in part if each is not None] for part in (shape[:axis], shape[axis + 1 :])
    ]
    is_known = len(shape) - 1 <= sum(map(len, sides))
    if target is None or not is_known or call.attributes.get("allowzero", 0):
        raise UnsupportedError("to a shape that does not keep it")
    sizes = [(shape[n] or 1) if not each and n != axis else each for n, each in enumerate(target)]
    for index, each in enumerate(target):
        around = sizes[:index], sizes[index + 1 :]
        is_open = each == -1 or (each == 0 and index == axis)
        if is_open and [prod(part) for part in around] == [prod(part) for part in sides]:
            return index
    raise UnsupportedError("to a shape that does not keep it")


def _reduced(call: _Call) -> int:
    given, rank = call.attributes.get("axes"), call.rank()
    if call.node.op_type.startswith("Arg"):
        given = [call.attributes.get("axis", 0)]
    gone = [each % rank for each in call.numbers(1, given) or range(rank)]
    found = _without(call, gone)
    return call.axis if call.attributes.get("keepdims", 1) else found


def _softmax(call: _Call) -> int:
    if call.along(-1) == call.axis or call.graph.opset < _OF_ONE_AXIS:
        raise UnsupportedError("along this axis")
    return call.axis


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
