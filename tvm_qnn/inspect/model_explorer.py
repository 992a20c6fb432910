"""Writes a model's graph as a file for Google's Model Explorer.

Its format is JSON: a collection of graphs, whose nodes name the nodes that they read results from
(``GraphCollection`` in the package ai-edge-model-explorer, 0.1.34).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from frontends.summary import FALLBACK, FLOAT, UNSUPPORTED, OperatorInfo, Summary, TensorNote

_INPUTS, _OUTPUTS = "GraphInputs", "GraphOutputs"  # Model Explorer's own names of them
_COLOURS = {FLOAT: "#fef3c7", FALLBACK: "#fed7aa", UNSUPPORTED: "#fecaca"}


def model_explorer_graph(
    summary: Summary, seconds: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return the collection with a model's graph, as plain values.

    Args:
        summary: the model's summary.
        seconds: the time of operators by the name of their first output, if it was measured.
    """
    makers = {note.index: (_INPUTS, str(n)) for n, note in enumerate(summary.inputs)}
    nodes = [_node(_INPUTS, _INPUTS, outputs=summary.inputs)]
    for place, operator in enumerate(summary.operators):
        makers.update((note.index, (str(place), str(n))) for n, note in enumerate(operator.outputs))
        node = _node(str(place), operator.code, operator.inputs, operator.outputs)
        # The groups in a tensor's name; for a fused operator, those of the first name.
        node["namespace"] = "/".join(filter(None, operator.name.split(";")[0].split("/")[:-1]))
        node["attrs"] = _pairs(_facts(operator, (seconds or {}).get(operator.name)))
        if operator.lowering in _COLOURS:
            node["style"] = {"backgroundColor": _COLOURS[operator.lowering]}
        nodes.append(node)
    nodes.append(_node(_OUTPUTS, _OUTPUTS, summary.outputs))
    notes = (summary.inputs[:0], *(op.inputs for op in summary.operators), summary.outputs)
    for node, inputs in zip(nodes, notes, strict=True):
        node["incomingEdges"] = [
            {
                "sourceNodeId": makers[note.index][0],
                "sourceNodeOutputId": makers[note.index][1],
                "targetNodeInputId": str(number),
            }
            for number, note in enumerate(inputs)
            if note.index in makers
        ]
    facts = {
        "format": summary.format,
        "parameters": f"{summary.parameters:,}",
        "MACs": f"{summary.macs:,}",
    }
    graph = {"id": summary.name, "nodes": nodes, "groupNodeAttributes": {"": facts}}
    return {"label": summary.name, "graphs": [graph]}


def _node(
    key: str, label: str, inputs: Iterable[TensorNote] = (), outputs: Iterable[TensorNote] = ()
) -> dict[str, Any]:
    return {
        "id": key,
        "label": label,
        "namespace": "",
        "inputsMetadata": [_tensor(n, note) for n, note in enumerate(inputs)],
        "outputsMetadata": [_tensor(n, note) for n, note in enumerate(outputs)],
    }


def _tensor(number: int, note: TensorNote) -> dict[str, Any]:
    facts = {
        "__tensor_tag": note.name,
        "tensor_name": note.name,
        "shape": "x".join(map(str, note.shape)),
        "dtype": note.dtype,
        "quantization": note.quantization,
        "constant": "yes" if note.is_constant else "",
    }
    return {"id": str(number), "attrs": _pairs(facts)}


def _facts(operator: OperatorInfo, seconds: float | None) -> dict[str, object]:
    return {
        "index": operator.index,
        "computed in": operator.lowering,
        "reason": operator.reason,
        "MACs": f"{operator.macs:,}" if operator.macs else "",
        "time": "" if seconds is None else f"{1e6 * seconds:.1f} µs",
        **operator.options,
    }


def _pairs(facts: Mapping[str, object]) -> list[dict[str, str]]:
    """Return attributes in Model Explorer's form: all are text, and empty ones are left out."""
    return [{"key": key, "value": str(value)} for key, value in facts.items() if str(value)]
