"""Writes a model as one HTML page that needs nothing but a browser; counts values for it."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

import numpy as np

from frontends.summary import Summary, TensorNote
from tvm_qnn.inspect.changes import Changes
from tvm_qnn.inspect.drawing import OPERATOR, REMOVED, Node, edges_of, layers, nodes_of, positions
from tvm_qnn.io.text import to_json

_SHOWN = ("name", "shape", "dtype", "quantization", "is_constant")
_SCRIPTS = ("graph.js", "panel.js", "scopes.js")


def html_report(
    summary: Summary,
    seconds: Mapping[str, float] | None = None,
    differences: Mapping[str, Mapping[str, Any]] | None = None,
    constants: Mapping[int, np.ndarray] | None = None,
    changes: Changes | None = None,
    verdict: str = "",
) -> str:
    """Write a page with the drawn graph, a search, each operator's details and the counts.

    Args:
        summary: the model's summary.
        seconds: the time of operators by the name of their first output, if it was measured.
        differences: the fields of ``TensorComparison`` of the operators' outputs, by the name of
            the first one, if they were compared.
        constants: the tensors whose values the file holds, by index. The page shows histograms.
        changes: the differences from another model, which the page draws, too.
        verdict: a sentence that sums up the differences.
    """
    nodes = nodes_of(summary, changes)
    edges = edges_of(nodes, summary, changes)
    places = positions(layers(edges))
    drawn = []
    for number, node in enumerate(nodes):
        held = constants or {}
        if node.kind == REMOVED and changes is not None:
            held = changes.other.constants
        operator, is_own = node.operator, node.kind == OPERATOR
        drawn.append(
            {
                **asdict(operator),
                "kind": node.kind,
                "inputs": _notes(operator.inputs, held),
                "outputs": _notes(operator.outputs, held),
                "x": places[number][0],
                "y": places[number][1],
                "from": edges[number],
                "seconds": (seconds or {}).get(operator.name) if is_own else None,
                "difference": (differences or {}).get(operator.name) if is_own else None,
                **_change(number, node, changes),
            }
        )
    data: dict[str, Any] = {
        "name": summary.name,
        "format": summary.format,
        "inputs": _notes(summary.inputs, {}),
        "outputs": _notes(summary.outputs, {}),
        "operators": len(summary.operators),
        "parameters": summary.parameters,
        "parameter_bytes": summary.parameter_bytes,
        "macs": summary.macs,
        "counts": summary.counts(),
        "nodes": drawn,
        "verdict": verdict,
        "has_times": seconds is not None,
        "other": None if changes is None else changes.other.summary.name,
    }
    here = files("tvm_qnn.inspect")
    read = {name: (here / f"page.{name}").read_text("utf-8") for name in ("css", "html", *_SCRIPTS)}
    return Template(read["html"]).substitute(
        css=read["css"],
        js="".join(read[name] for name in _SCRIPTS),
        # A "<" in a text of the model could end the script element.
        data=to_json(data).replace("<", "\\u003c"),
    )


def _notes(
    notes: Iterable[TensorNote], constants: Mapping[int, np.ndarray]
) -> list[dict[str, Any]]:
    """Return the fields of tensors that the page shows."""
    shown = []
    for note in notes:
        values = constants.get(note.index)
        spread = None if values is None or values.dtype.name != note.dtype else histogram(values)
        ranges = channel_ranges(note)
        found: dict[str, Any] = {key: getattr(note, key) for key in _SHOWN}
        found |= {"range": None if note.is_constant else real_range(note)}
        found |= {"values": None if spread is None else spread._asdict()}
        found |= {"channels": None if ranges is None else ranges._asdict()}
        shown.append(found)
    return shown


def _change(number: int, node: Node, changes: Changes | None) -> dict[str, Any]:
    """Return the fields with a box's differences from the other model."""
    if changes is None:
        return {"change": None, "changes": []}
    told = changes.changes.get(number, ())
    kinds = dict.fromkeys(changes.added, "added") | dict.fromkeys(changes.changed, "changed")
    kind = REMOVED if node.kind == REMOVED else kinds.get(number, "equal")
    return {"change": kind, "changes": [change.text for change in told]}


_BINS = 32
_FEWEST = 16  # values; the page shows fewer values as numbers
_QUANTIZED = ("int8", "uint8", "int16")  # types of integers that stand for real values


class Histogram(NamedTuple):
    """Counts of values in bins of one width.

    Attributes:
        low: the lower end of the first bin; for integers, the lowest integer in it.
        high: the upper end of the last bin; for integers, the highest integer in it.
        counts: the number of values in each bin.
    """

    low: float
    high: float
    counts: tuple[int, ...]


def histogram(values: np.ndarray) -> Histogram | None:
    """Count values; None for few values, and for values that are not numbers.

    Each bin has room for equally many integers, so that no bin is higher only since it is wider.
    """
    flat = values.ravel()
    if flat.dtype.kind == "f":
        flat = flat[np.isfinite(flat)].astype(np.float64)
    if flat.dtype.kind not in "iuf" or flat.size < _FEWEST:
        return None
    low, high = flat.min().item(), flat.max().item()
    bins, ends = _BINS, (low, high)
    if flat.dtype.kind in "iu":
        width = -(-(high - low + 1) // _BINS)
        bins = -(-(high - low + 1) // width)
        high = low + bins * width - 1
        ends = (low - 0.5, high + 0.5)
    counts, _ = np.histogram(flat, bins, ends)
    return Histogram(low, high, tuple(counts.tolist()))


def real_range(note: TensorNote) -> tuple[float, float] | None:
    """Return the lowest and the highest real value of a tensor with one scale."""
    if len(note.scales) != 1 or note.dtype not in _QUANTIZED:
        return None
    lows, highs = _ends(note)
    return lows[0].item(), highs[0].item()


def channel_ranges(note: TensorNote) -> Histogram | None:
    """Count channels by the largest magnitude that their scale and zero point allow."""
    if len(note.scales) < 2 or note.dtype not in _QUANTIZED:
        return None
    lows, highs = _ends(note)
    return histogram(np.maximum(-lows, highs))


def _ends(note: TensorNote) -> tuple[np.ndarray, np.ndarray]:
    limits = np.iinfo(note.dtype)
    scales, zero_points = np.array(note.scales, np.float64), np.array(note.zero_points, np.int64)
    return (limits.min - zero_points) * scales, (limits.max - zero_points) * scales
