"""What an MXNet symbol holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from frontends.errors import UnsupportedOperatorError
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.graph import Entry, Graph, Node
from frontends.mxnet.importer import import_graph
from frontends.mxnet.params import read_params
from frontends.mxnet.symbol import read_symbol
from frontends.mxnet.values import Array, Value
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of
from tvm_qnn.inspect.summary import FLOAT, INTEGER, UNSUPPORTED, OperatorInfo, Summary, TensorNote
from tvm_qnn.profile.work_mxnet import products

_INTEGER = ("_contrib_quantize", "_contrib_dequantize", "_contrib_requantize", "_sg_")


def mxnet_summary(
    path: Path,
    params: Path,
    shapes: Mapping[str, Sequence[int]] | None = None,
    semantics: str = "mxnet",
) -> Summary:
    """Read an MXNet model; operators that cannot be imported are part of the answer.

    Shapes, ranges and products are known if those of the inputs are.

    Args:
        path: of the symbol file.
        params: of the file of parameters.
        shapes: of inputs by name, where the file does not say.
        semantics: as ``from_mxnet`` takes it.

    Raises:
        MXNetFormatError: a file is damaged.
        QnnError: ``shapes`` do not fit the model.
        OSError: a file cannot be read.
    """
    graph = read_symbol(path)
    arguments, states = read_params(params)
    constants = {**arguments, **states}
    values: dict[Entry, Value] = {}
    reasons = _reasons(graph, constants, shapes, semantics, values)
    for number, node in enumerate(graph.nodes):
        if node.is_variable and node.name in constants:
            values[Entry(number)] = constants[node.name]
    notes = [_note(graph, number, values, constants) for number in range(len(graph.nodes))]
    operators = tuple(
        _operator(number, node, notes, reasons)
        for number, node in enumerate(graph.nodes)
        if not node.is_variable
    )
    variables = [number for number, node in enumerate(graph.nodes) if node.is_variable]
    return Summary(
        name=path.name,
        format="MXNet",
        inputs=tuple(notes[number] for number in variables if not notes[number].is_constant),
        outputs=tuple(notes[entry.node] for entry in graph.heads),
        operators=operators,
        parameters=sum(array.size for array in constants.values()),
        parameter_bytes=sum(array.nbytes for array in constants.values()),
    )


def _reasons(
    graph: Graph,
    constants: Mapping[str, Array],
    shapes: Mapping[str, Sequence[int]] | None,
    semantics: str,
    values: dict[Entry, Value],
) -> dict[int, str]:
    """Why operators cannot be imported, by number; fills in values, as far as they are known."""
    try:
        import_graph(graph, constants, shapes or None, semantics=semantics, values=values)
    except UnsupportedOperatorError as error:
        return {index: reason for index, _, reason, _ in error.operators}
    except QnnError:
        # Without the inputs' shapes most models cannot be imported, but be looked at.
        if shapes:
            raise
    return {}


def _note(
    graph: Graph, number: int, values: Mapping[Entry, Value], constants: Mapping[str, Array]
) -> TensorNote:
    name = graph.nodes[number].name
    shape, dtype = _type(values.get(Entry(number)))
    return TensorNote(
        index=number,
        name=name,
        shape=shape,
        dtype=dtype,
        quantization=_range(values.get(Entry(number, 1)), values.get(Entry(number, 2))),
        is_constant=graph.nodes[number].is_variable and name in constants,
    )


def _type(value: Value | None) -> tuple[tuple[int, ...], str]:
    if value is None:
        return (), ""
    if isinstance(value, np.ndarray):
        return tuple(value.shape), str(value.dtype)
    spec = spec_of(value)
    return spec.shape, spec.dtype


def _range(low: Value | None, high: Value | None) -> str:
    ends = [float(end) for end in (low, high) if isinstance(end, np.ndarray) and end.size == 1]
    return f"from {ends[0]:.6g} to {ends[1]:.6g}" if len(ends) == 2 else ""


def _operator(
    number: int, node: Node, notes: list[TensorNote], reasons: dict[int, str]
) -> OperatorInfo:
    # A quantized tensor comes with its range: three inputs, one node.
    inputs = tuple(notes[node] for node in dict.fromkeys(entry.node for entry in node.inputs))
    result = notes[number]
    is_known = len(inputs) > 1 and all(note.dtype for note in (*inputs[:2], result))
    return OperatorInfo(
        index=number,
        code=node.op,
        name=node.name,
        inputs=inputs,
        outputs=(result,),
        options=json.loads(json.dumps(dict(node.attrs))),
        macs=products(node.op, *(note.shape for note in (*inputs[:2], result))) if is_known else 0,
        lowering=UNSUPPORTED if number in reasons else _lowering(node),
        reason=reasons.get(number, ""),
    )


def _lowering(node: Node) -> str:
    if not node.op.startswith(_INTEGER):
        return FLOAT
    # Fusion comes before quantization, which leaves some of what is fused as it is.
    is_left = node.op.startswith("_sg_") and not Attributes(node.attrs).flag("quantized", False)
    return FLOAT if is_left else INTEGER
