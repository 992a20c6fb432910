"""What an MXNet symbol holds."""

from __future__ import annotations

import json
from pathlib import Path

from frontends.errors import UnsupportedOperatorError
from frontends.mxnet.conversion import check_operators
from frontends.mxnet.graph import Graph, Node
from frontends.mxnet.params import read_params
from frontends.mxnet.symbol import read_symbol
from tvm_qnn.inspect.summary import FLOAT, INTEGER, UNSUPPORTED, OperatorInfo, Summary, TensorNote

_INTEGER = ("_contrib_quantize", "_contrib_dequantize", "_contrib_requantize", "_sg_")


def mxnet_summary(path: Path, params: Path) -> Summary:
    """Read an MXNet model; operators that cannot be imported are part of the answer.

    Shapes are not known before the model is imported with those of its inputs.

    Raises:
        MXNetFormatError: a file is damaged.
        OSError: a file cannot be read.
    """
    graph = read_symbol(path)
    arguments, states = read_params(params)
    constants = {**arguments, **states}
    notes = [
        TensorNote(
            index=number,
            name=node.name,
            shape=tuple(constants[node.name].shape) if node.name in constants else (),
            dtype=str(constants[node.name].dtype) if node.name in constants else "",
            is_constant=node.name in constants,
        )
        for number, node in enumerate(graph.nodes)
    ]
    reasons = _reasons(graph)
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


def _reasons(graph: Graph) -> dict[int, str]:
    try:
        check_operators(graph)
    except UnsupportedOperatorError as error:
        return {index: reason for index, _, reason, _ in error.operators}
    return {}


def _operator(
    number: int, node: Node, notes: list[TensorNote], reasons: dict[int, str]
) -> OperatorInfo:
    lowering = INTEGER if node.op.startswith(_INTEGER) else FLOAT
    return OperatorInfo(
        index=number,
        code=node.op,
        name=node.name,
        inputs=tuple(notes[entry.node] for entry in node.inputs),
        outputs=(notes[number],),
        options=json.loads(json.dumps(dict(node.attrs))),
        lowering=UNSUPPORTED if number in reasons else lowering,
        reason=reasons.get(number, ""),
    )
