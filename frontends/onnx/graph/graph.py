"""A model during its import: one graph, which the importer's steps change in place."""

from __future__ import annotations

from collections import Counter, UserDict
from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.read.constants import Array, array_of, dtype_named
from frontends.onnx.read.names import (
    PREFIX,
    all_nodes,
    copied,
    dims_of,
    onnx_package,
    opset_of,
)
from frontends.onnx.read.open_inputs import Shapes, sized_inputs
from frontends.onnx.read.standard import FLOAT, INT32, INT64, UNARY

_LARGE = 1 << 14
"""The fewest elements of a constant whose values shape inference need not see."""
_OF_SHAPES = (INT32, INT64)
"""The element types of shapes and axes."""
_SAME_RANK = {
    *(*UNARY, "Add", "AveragePool", "Concat", "Conv", "DynamicQuantizeLinear"),
    *("GlobalAveragePool", "LayerNormalization", "MatMul", "MatMulInteger", "MaxPool", "Mul"),
    *("RMSNormalization", "Softmax"),
}
"""Operators whose result has as many axes as their first operand."""
_OF_AXES_AS_OPERAND = 13
"""The first operator set in which Unsqueeze and ReduceSum take their axes as an operand."""


class Constants(UserDict[str, Any]):
    """Values of constants by name, stored as arrays or as TensorProto, and read as arrays.

    A constant of the file is decoded when it is first read.
    """

    def __getitem__(self, name: str) -> Array:
        """Return values.

        Raises:
            ModelFormatError: the constant is malformed.
        """
        held = self.data[name]
        if not isinstance(held, np.ndarray):
            held = self.data[name] = array_of(held)
        return held

    def copy(self) -> Constants:
        """Return a copy, which may get more constants; this decodes none."""
        return Constants(self.data)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a shape without decoding the values."""
        held = self.data[name]
        return held.shape if isinstance(held, np.ndarray) else tuple(held.dims)

    def is_open(self, name: str) -> bool:
        """Tell whether values are open sizes."""
        held = self.data[name]
        return isinstance(held, np.ndarray) and held.dtype == object

    def dtype(self, name: str) -> str:
        """Return a dtype without decoding the values; empty if it is unknown."""
        return dtype_named(self.kind(name))

    def kind(self, name: str) -> int:
        """Return the number of an element type."""
        if self.is_open(name):
            return INT64
        held = self.data[name]
        if isinstance(held, np.ndarray):
            return int(onnx_package().helper.np_dtype_to_tensor_dtype(held.dtype))
        return int(held.data_type)

    def tensor(self, name: str, *, is_hollow: bool = False) -> Any:
        """Return a constant as TensorProto; a hollow one has no values if it is large."""
        held, kind, shape = self.data[name], self.kind(name), self.shape(name)
        if is_hollow and kind not in _OF_SHAPES and prod(shape) >= _LARGE:
            hollow = onnx_package().TensorProto(name=name, data_type=kind, dims=shape)
            hollow.data_location = hollow.EXTERNAL
            hollow.external_data.add(key="location", value=name)
            return hollow
        if isinstance(held, np.ndarray):
            return onnx_package().numpy_helper.from_array(held, name)
        if held.name != name:
            held = copied(held)
            held.name = name
        return held


class Graph:
    """A model: nodes in order, constants, and the known types of its tensors.

    It has fields of a GraphProto: ``node``, ``input``, ``output``, ``value_info``.

    Attributes:
        node: NodeProtos in order, owned by this graph.
        constants: by name.
        input: ValueInfoProtos.
        output: ValueInfoProtos.
        value_info: ValueInfoProtos of other tensors with known types.
        given: shapes of inputs by name, in place of the file's.
        bounds: of the open sizes among the given ones, by name.
        head: a ModelProto with the versions of operators and without a graph.
        prefix: a prefix of names that no tensor has.
        stem: the first result of the node that is being replaced.
        held: the bytes of the constants that the file has.
        written: operator, operands and results of each node, before the search for groups.
        sources: for each node, the index of the node that it replaces.
        made: the node that makes each tensor; ``index`` sets this field and the next three.
        readers: the nodes that read each tensor, in order, each node once.
        uses: how often each tensor is an operand or an output.
        dropped: results whose nodes a rule drops.
        symbols: the open sizes of shapes, by their text in a ``dim_param``.
        sized: shapes with open sizes that the package onnx does not infer.
        values: of tensors that hold open sizes.
        parted: results of ``apart``.
    """

    def __init__(self, proto: Any, given: Shapes | None = None) -> None:
        """Read a ModelProto without changing it.

        Args:
            proto: from ``read_proto``.
            given: shapes of inputs, or sizes by the file's names; see ``sized_inputs``.

        Raises:
            QnnError: a name is unknown, or a size is invalid.
        """
        graph = proto.graph
        self.given, self.bounds = sized_inputs(graph, given)
        self.head = onnx_package().ModelProto(ir_version=proto.ir_version)
        self.head.opset_import.extend(proto.opset_import)
        self.head.metadata_props.extend(proto.metadata_props)
        self.head.functions.extend(proto.functions)
        self.head.graph.name = graph.name
        self.node = [copied(node) for node in graph.node]
        self.constants = Constants({tensor.name: tensor for tensor in graph.initializer})
        self.input, self.output = ([*map(copied, each)] for each in (graph.input, graph.output))
        self.value_info = [*map(copied, graph.value_info)]
        self.stem, self.sources, self._added = "", list[int](), 0
        self.held, self.written = 0, list[tuple[str, list[str], list[str]]]()
        self.symbols: dict[str, Any] = {}
        self.sized: dict[str, tuple[int, ...]] = {}
        self.values: dict[str, Array] = {}
        self.parted = set[str]()
        self.find_prefix()
        self.find_types()

    def copy(self) -> Graph:
        """Return a graph of the same nodes, whose list of nodes may be changed."""
        result = object.__new__(Graph)
        result.__dict__.update(self.__dict__)
        result.head = copied(self.head)
        result.node, result.constants = [*self.node], self.constants.copy()
        result.sources, result.sized = [], dict(self.sized)
        return result

    def become(self, other: Graph) -> None:
        """Take over the contents of another graph."""
        self.__dict__.update(other.__dict__)

    def to_proto(self, *, is_hollow: bool = False) -> Any:
        """Return a ModelProto; large constants of a hollow one have no values."""
        result = copied(self.head)
        result.graph.node.extend(self.node)
        result.graph.input.extend(self.input)
        result.graph.output.extend(self.output)
        result.graph.value_info.extend(self.value_info)
        make = onnx_package().helper.make_tensor_value_info
        for name in self.constants:
            if self.constants.is_open(name):  # an input has a known type
                result.graph.input.append(make(name, INT64, self.constants.shape(name)))
            else:
                result.graph.initializer.append(self.constants.tensor(name, is_hollow=is_hollow))
        return result

    @property
    def opset(self) -> int:
        """The version of the standard's operators, 0 if it is not stated."""
        return opset_of(self.head)

    @property
    def kept(self) -> list[str]:
        """The names of the outputs."""
        return [value.name for value in self.output]

    def index(self) -> Graph:
        """Find the maker, the readers and the number of uses of each tensor; return self."""
        self.made, self.readers = makers(self.node), dict[str, list[Any]]()
        for node in self.node:
            for name in dict.fromkeys(node.input):
                self.readers.setdefault(name, []).append(node)
        self.uses = Counter([*self.kept, *(name for node in self.node for name in node.input)])
        self.dropped = set[str]()
        return self

    def rewritten(self) -> Iterator[Any]:
        """Yield the nodes and empty the graph: the caller adds again each node that stays."""
        self.find_prefix()
        given, self.node = self.index().node, []
        for node in given:
            self.stem = (*node.output, "")[0]
            yield node
        self.node = [each for each in self.node if self.dropped.isdisjoint(each.output)]

    def apply(self, *rules: Rule) -> bool:
        """Offer each node to the rules, one after the other; tell whether a node was replaced.

        A rule returns whether it added a replacement of the node. The index describes the graph
        before the rule; the rule adds to it the results of nodes that it drops.
        """
        is_other = False
        for rule in rules:
            for node in self.rewritten():
                if rule(self, node):
                    is_other = True
                else:
                    self.node.append(node)
        return is_other

    def read_instead(self, name: str, other: str) -> None:
        """Let the readers of a tensor read another one."""
        for node in self.readers.pop(name, ()):
            node.input[:] = [other if each == name else each for each in node.input]
            self.readers.setdefault(other, []).append(node)

    def drop_unread_constants(self) -> None:
        """Remove constants that nothing reads, of any dtype."""
        read = {*self.kept, *(name for node in all_nodes(self) for name in node.input)}
        for name in [each for each in self.constants if each not in read]:
            del self.constants[name]

    def find_prefix(self) -> None:
        """Choose a prefix that no name begins with."""
        names = {name for node in self.node for name in (*node.input, *node.output)}
        self.prefix = PREFIX
        while any(name.startswith(self.prefix) for name in names):
            self.prefix += "_"

    def find_types(self) -> None:
        """Read shapes, ranks and element types from ``input``, ``value_info`` and ``output``."""
        values = [*self.input, *self.value_info]
        stated = [each for each in values if each.type.tensor_type.HasField("shape")]
        self.ranks = {each.name: len(each.type.tensor_type.shape.dim) for each in stated}
        values += self.output
        self.kinds = {each.name: each.type.tensor_type.elem_type for each in values}
        self.shapes = dict(self.sized)
        for value in values:
            sizes: list[Any] = dims_of(value)
            sizes = [each if isinstance(each, int) else self.symbols.get(each) for each in sizes]
            if value.type.tensor_type.HasField("shape") and None not in sizes:
                self.shapes[value.name] = tuple(sizes)

    def maker(self, name: str, *operators: str) -> Any:
        """Return the node that makes a tensor, if it is one of these operators; None otherwise."""
        node = self.made.get(name)
        return node if node is not None and node.op_type in operators else None

    def encoding(self, node: Any) -> list[Array | None]:
        """Return scale and zero point of a quantizing node; None for what is no constant."""
        return [self.constants.get(name) for name in (*node.input[1:3], "", "")[:2]]

    def value(self, name: str) -> Array:
        """Return a constant.

        Raises:
            UnsupportedError: the tensor is no constant.
        """
        if name not in self.constants:
            raise UnsupportedError(f"{name!r} must be a constant")
        return self.constants[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor.

        Raises:
            UnsupportedError: it is not known.
        """
        if (found := self.known_shape(name)) is None:
            raise UnsupportedError(f"the shape of {name!r} must be known")
        return found

    def known_shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a tensor; None if it is not known."""
        return self.constants.shape(name) if name in self.constants else self.shapes.get(name)

    def dtype(self, name: str) -> str:
        """Return the dtype of a tensor; empty if it is not known."""
        is_constant = name in self.constants
        return dtype_named(self.constants.kind(name) if is_constant else self.kinds.get(name, 0))

    def rank(self, name: str) -> int:
        """Return the rank of a tensor, as far as its maker determines it; 0 if it is unknown."""
        made = makers(self.node)
        while name not in self.ranks and name in made:
            node = made.pop(name)
            if node.op_type == "Transpose":
                return len(node.attribute[0].ints) if node.attribute else 0
            if node.op_type == "Reshape":
                is_known = node.input[1] in self.constants
                return prod(self.constants.shape(node.input[1])) if is_known else 0
            if node.op_type not in _SAME_RANK:
                return 0
            name = node.input[0]
        if name in self.constants:
            return len(self.constants.shape(name))
        return self.ranks.get(name, 0)

    def constant(self, value: Any, name: str = "") -> str:
        """Add a constant and return its name.

        Args:
            value: an array; an integer or a list of integers, which become int64; or a float,
                which becomes float32.
            name: of the constant; a new one if it is empty.
        """
        if not isinstance(value, np.ndarray | np.generic):
            value = _array(value)
        self._added += 1
        name = name or f"{self.prefix}constant_{self._added}"
        self.constants[name] = np.asarray(value)
        return name

    def add(self, op: str, *operands: Any, output: str | list[str] = "", **attributes: Any) -> str:
        """Add a node and return the name of its first result.

        Args:
            op: the operator.
            operands: names of tensors; anything else becomes a constant.
            output: the names of the results; a new name if it is empty.
            attributes: of the node.
        """
        names = [each if isinstance(each, str) else self.constant(each) for each in operands]
        output = output or self.part(f"part_{len(self.node)}")
        results = [output] if isinstance(output, str) else output
        self.node.append(onnx_package().helper.make_node(op, names, results, **attributes))
        return results[0]

    def part(self, name: str) -> str:
        """Return a name for a part of a replacement; error messages of a run may contain it."""
        return f"{self.prefix}{self.stem}_{name}"

    def unsqueezed(self, data: str, axis: int, output: str = "") -> str:
        """Add an Unsqueeze and return its result."""
        return self.along("Unsqueeze", data, [axis], output)

    def along(
        self, op: str, data: str, axes: list[int], output: str = "", **attributes: Any
    ) -> str:
        """Add an Unsqueeze or ReduceSum along axes and return its result."""
        if self.opset < _OF_AXES_AS_OPERAND:
            return self.add(op, data, output=output, axes=axes, **attributes)
        return self.add(op, data, axes, output=output, **attributes)

    def apart(self, name: str, output: str = "") -> str:
        """Add a Cast from float32 to float32. It changes nothing, but ends a group."""
        result = self.add("Cast", name, output=output, to=FLOAT)
        self.parted.add(result)
        return result


def makers(nodes: Iterable[Any]) -> dict[str, Any]:
    """Return the node that makes each tensor."""
    return {name: node for node in nodes for name in node.output}


Rule = Callable[[Graph, Any], bool]
"""``rule(graph, node)`` returns whether it added a node's replacement; see ``Graph.apply``."""


def _array(value: Any) -> Array:
    """Return a number, or numbers and open sizes, as an array."""
    if isinstance(value, float):
        return np.array(value, np.float32)
    found = np.array(value, object)
    are_numbers = all(isinstance(each, int | np.integer) for each in found.flat)
    return found.astype(np.int64) if are_numbers else found
