"""The ONNX format's Source: describes and imports a model."""

from collections.abc import Callable
from math import prod
from typing import Any

from frontends.bounds import number_of
from frontends.builder import Imported
from frontends.formats import Shapes, Source
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import infer
from frontends.onnx.importer import import_proto
from frontends.onnx.normalize.control import CONTROL, write_subgraphs
from frontends.onnx.normalize.grouping import find_known_types, write_standard_pairs
from frontends.onnx.normalize.standard_functions import is_defined
from frontends.onnx.operators import reasons
from frontends.onnx.read.constants import Array, constants_of, dtype_of
from frontends.onnx.read.names import attributes_of, dims_of, opset_of
from frontends.onnx.read.reader import read_proto
from frontends.onnx.replacements.registry import RULES
from frontends.summary import FLOAT, INTEGER, UNSUPPORTED, OperatorInfo, Summary, TensorNote
from qnn_ops.dialect.sizes import within
from qnn_ops.dialect.tensor_info import OpenSize
from qnn_ops.errors import QnnError

_INTEGER = {
    *("ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM"),
    *("DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat"),
}

_INTEGERS = 4
"""The accuracy level at which MatMulNBits multiplies integers."""

_STATES = 2
"""The index of the operand with the weights of hidden values."""

_MADE_UP = "unk__"
"""The prefix of the names that the package onnx gives to unknown sizes."""


class OnnxSource(Source):
    """An ONNX model; shapes are known if those of its inputs are."""

    def __init__(self, model: Any) -> None:
        """Read a model: a path, a file's contents, or a ``ModelProto``."""
        self.proto = read_proto(model)

    def convert(self, shapes: Shapes | None = None) -> Imported:
        """Import it."""
        return import_proto(self.proto, shapes)

    def summary(self, name: str, shapes: Shapes | None = None) -> Summary:
        """Describe it, node by node."""
        constants = constants_of(self.proto)
        # Constants come first, in the order of ``constants``; inputs of the graph may be among
        # them.
        notes = {
            key: TensorNote(number, key, array.shape, array.dtype.name, is_constant=True)
            for number, (key, array) in enumerate(constants.items())
        }
        described, refused, macs = _described(self.proto, shapes)
        for value in (*described.input, *described.value_info, *described.output):
            dtype = dtype_of(value) if value.type.tensor_type.elem_type else ""
            sizes = tuple(map(_size, dims_of(value)))
            notes.setdefault(value.name, TensorNote(len(notes), value.name, sizes, dtype))

        def note(key: str) -> TensorNote:
            return notes.setdefault(key, TensorNote(len(notes), key, (), ""))

        missing = self._missing(refused)
        graph = self.proto.graph
        operators = []
        for number, node in enumerate(graph.node):
            inputs = tuple(note(key) for key in node.input if key)
            outputs = tuple(note(key) for key in node.output if key)
            reason = missing.get(number, "")
            options = attributes_of(node)
            is_integer = node.op_type.startswith("Q") or node.op_type in _INTEGER
            is_integer |= options.get("accuracy_level") == _INTEGERS
            operators.append(
                OperatorInfo(
                    index=number,
                    code=node.op_type,
                    name=node.output[0],
                    inputs=inputs,
                    outputs=outputs,
                    options={key: _plain(value) for key, value in options.items()},
                    macs=macs.get(number, 0),
                    lowering=UNSUPPORTED if reason else INTEGER if is_integer else FLOAT,
                    reason=reason,
                )
            )
        return Summary(
            name=name,
            format="ONNX",
            inputs=tuple(note(each.name) for each in graph.input if each.name not in constants),
            outputs=tuple(note(each.name) for each in graph.output),
            operators=tuple(operators),
            parameters=sum(array.size for array in constants.values()),
            parameter_bytes=sum(array.nbytes for array in constants.values()),
        )

    def constants(self) -> dict[int, Array]:
        """Return the initializers."""
        return dict(enumerate(constants_of(self.proto).values()))

    def _missing(self, refused: dict[int, str]) -> dict[int, str]:
        own = reasons(self.proto.graph.node)
        nodes = self.proto.graph.node
        known = set(RULES) | set(self._written_out())
        missing = refused | {k: why for k, why in own.items() if nodes[k].op_type not in known}
        opset = opset_of(self.proto)
        return {k: why for k, why in missing.items() if not is_defined(nodes[k], opset)}

    def _written_out(self) -> tuple[str, ...]:
        """Return the operators with inner graphs, if all of them can be written out."""
        if not any(node.op_type in CONTROL for node in self.proto.graph.node):
            return ()
        graph = Graph(self.proto)
        try:
            write_subgraphs(graph)
        except QnnError:
            return ()
        return () if any(node.op_type in CONTROL for node in graph.node) else CONTROL


def _size(size: int | str) -> int:
    """Return a size of a file; an open size keeps its name."""
    if isinstance(size, int):
        return size
    return OpenSize(size if size and not size.startswith(_MADE_UP) else "?")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, int | float | str):
        return value
    return (
        [_plain(item) for item in value] if isinstance(value, list) else str(type(value).__name__)
    )


def _described(proto: Any, shapes: Shapes | None) -> tuple[Graph, dict[int, str], dict[int, int]]:
    """Describe a model without an import.

    Types and products are those of the standard operators that the importer writes. Products are
    counted for the smallest sizes.

    Args:
        proto: from ``read_proto``.
        shapes: of inputs by name, in place of the file's.

    Returns:
        A graph with the types of its tensors, as far as they are known; by the nodes' indices, the
        reasons why nodes cannot be imported, and how many products a node adds up.

    Raises:
        QnnError: ``shapes`` do not fit the model.
    """
    graph = Graph(proto, shapes)
    with within(graph.bounds):
        try:
            infer(graph)
        except QnnError:
            if graph.given:
                raise
            graph = Graph(proto)  # the description works without shapes
        write_standard_pairs(graph)
        groups, missing, written = find_known_types(graph)
        return graph, missing, _macs(groups, written)


def _macs(groups: Graph, written: Graph) -> dict[int, int]:
    """Count the products of the operators that nodes stand for, by the nodes' indices."""
    found: dict[int, int] = {}
    for number, node in zip(groups.sources, groups.node, strict=True):
        names = [*node.input, node.output[0]]
        shapes = [written.known_shape(name) if name else () for name in names]
        known = [tuple(map(number_of, shape)) for shape in shapes if shape is not None]
        if (count := _COUNTS.get(node.op_type)) is None or len(known) < len(shapes):
            continue
        *inputs, output = known
        found[number] = found.get(number, 0) + count(inputs, output, attributes_of(node))
    return found


Dims = tuple[int, ...]
Count = Callable[[list[Dims], Dims, dict[str, Any]], int]
"""``count(inputs, output, attributes)``: a node's number of products, from its tensors' shapes."""

_COUNTS: dict[str, Count] = {
    **dict.fromkeys(
        ("MatMul", "MatMulInteger", "MatMulNBits", "QLinearMatMul"),
        lambda inputs, output, _: prod(output) * inputs[0][-1],
    ),
    **dict.fromkeys(
        ("Conv", "ConvInteger"), lambda inputs, output, _: prod(output) * prod(inputs[1][1:])
    ),
    **dict.fromkeys(  # weights of data and of hidden values, for every row of every step
        ("GRU", "LSTM", "RNN"),
        lambda inputs, *_: prod(inputs[0][:2]) * sum(map(prod, inputs[1 : _STATES + 1])),
    ),
    "ConvTranspose": lambda inputs, *_: prod(inputs[0]) * prod(inputs[1][1:]),
    "Gemm": lambda inputs, output, attributes: (
        prod(output) * inputs[0][0 if attributes.get("transA", 0) else 1]
    ),
    "QLinearConv": lambda inputs, output, _: prod(output) * prod(inputs[3][1:]),
}
