"""A model as one HTML page that needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.resources import files
from string import Template
from typing import Any

from frontends.summary import Summary, TensorNote
from tvm_qnn.inspect.layout import layers, positions
from tvm_qnn.io.json_text import to_json

_SHOWN = ("name", "shape", "dtype", "quantization", "is_constant")


def html_report(
    summary: Summary,
    seconds: Mapping[str, float] | None = None,
    differences: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Write a page with the drawn graph, a search, each operator's details and the counts.

    Args:
        summary: of the model.
        seconds: what operators take, by the name of their first output, where it was measured.
        differences: the fields of ``TensorComparison`` of their outputs, by the name of the first
            one, where they were compared.
    """
    edges = _edges(summary)
    places = positions(layers(edges))
    nodes = [
        {
            **asdict(operator),
            "inputs": _notes(operator.inputs),
            "outputs": _notes(operator.outputs),
            "x": places[number][0],
            "y": places[number][1],
            "from": edges[number],
            "seconds": (seconds or {}).get(operator.name),
            "difference": (differences or {}).get(operator.name),
        }
        for number, operator in enumerate(summary.operators)
    ]
    data: dict[str, Any] = {
        "name": summary.name,
        "format": summary.format,
        "inputs": _notes(summary.inputs),
        "outputs": _notes(summary.outputs),
        "parameters": summary.parameters,
        "parameter_bytes": summary.parameter_bytes,
        "macs": summary.macs,
        "counts": summary.counts(),
        "nodes": nodes,
        "has_times": seconds is not None,
    }
    here = files("tvm_qnn.inspect")
    parts = {name: (here / f"page.{name}").read_text("utf-8") for name in ("css", "js", "html")}
    return Template(parts["html"]).substitute(
        css=parts["css"],
        js=parts["js"],
        # No text of the model may end the element that it stands in.
        data=to_json(data).replace("<", "\\u003c"),
    )


def _notes(notes: Iterable[TensorNote]) -> list[dict[str, Any]]:
    """Return what the page shows of tensors."""
    return [{key: getattr(note, key) for key in _SHOWN} for note in notes]


def _edges(summary: Summary) -> dict[int, list[int]]:
    """List for each operator the ones whose results it takes, by their places in the list."""
    makers: dict[int, int] = {}
    edges: dict[int, list[int]] = {}
    for number, operator in enumerate(summary.operators):
        found = (makers.get(note.index) for note in operator.inputs)
        edges[number] = list(dict.fromkeys(maker for maker in found if maker is not None))
        makers.update(dict.fromkeys((note.index for note in operator.outputs), number))
    return edges
