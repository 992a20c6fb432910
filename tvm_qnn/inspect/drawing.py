"""The boxes of a model's drawing and where they stand: inputs, operators in order, outputs.

Beside another model, the operators that only the other model has are drawn, too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from frontends.summary import OperatorInfo, Summary, TensorNote
from tvm_qnn.inspect.changes import Changes, makers_of

OPERATOR, INPUT, OUTPUT, REMOVED = "operator", "input", "output", "removed"

_Order = tuple[float, int]


@dataclass(frozen=True)
class Node:
    """One box.

    Attributes:
        kind: OPERATOR, INPUT, OUTPUT or REMOVED.
        operator: the operator in it; for a model's input or output, a stand-in with its tensor.
        order: a box has a greater order than the boxes above it.
    """

    kind: str
    operator: OperatorInfo
    order: _Order


def nodes_of(summary: Summary, changes: Changes | None = None) -> list[Node]:
    """List the boxes: operators in their order, inputs, outputs, removed operators."""
    nodes = [Node(OPERATOR, op, (place, 0)) for place, op in enumerate(summary.operators)]
    last = len(nodes)
    for number, note in enumerate(summary.inputs):
        nodes.append(Node(INPUT, _end(number, INPUT, note, (), (note,)), (-1, number)))
    for number, note in enumerate(summary.outputs):
        nodes.append(Node(OUTPUT, _end(number, OUTPUT, note, (note,), ()), (last, number)))
    if changes is not None:
        nodes += _removed(changes)
    return nodes


def edges_of(
    nodes: list[Node], summary: Summary, changes: Changes | None = None
) -> dict[int, list[int]]:
    """List for each box the boxes whose results it reads, by their indices in the list.

    Keys are ordered: a box comes after the boxes whose results it reads.
    """
    inputs = len(summary.operators)
    givers = {note.index: inputs + number for number, note in enumerate(summary.inputs)}
    givers |= makers_of(summary)
    found = {number: set(_given(node.operator.inputs, givers)) for number, node in enumerate(nodes)}
    if changes is not None:
        for giver, taker in _others_edges(nodes, summary, changes):
            found[taker].add(giver)
    edges = {}
    for number in sorted(found, key=lambda number: nodes[number].order):
        order = nodes[number].order
        edges[number] = sorted(other for other in found[number] if nodes[other].order < order)
    return edges


def _end(
    number: int,
    kind: str,
    note: TensorNote,
    inputs: tuple[TensorNote, ...],
    outputs: tuple[TensorNote, ...],
) -> OperatorInfo:
    return OperatorInfo(number, kind, note.name, inputs, outputs, lowering=f"{kind} of the model")


def _removed(changes: Changes) -> Iterator[Node]:
    """Yield boxes of the removed operators, each after the partner of the operator before it."""
    places = {their: place for place, their in changes.partners.items()}
    before = -1
    for place, operator in enumerate(changes.other.summary.operators):
        before = places.get(place, before)
        if place in changes.removed:
            yield Node(REMOVED, operator, (before + 0.5, place))


def _others_edges(
    nodes: list[Node], summary: Summary, changes: Changes
) -> Iterator[tuple[int, int]]:
    """Yield the edges of the other model that begin or end at a removed operator."""
    other = changes.other.summary
    first = len(nodes) - len(changes.removed)
    own = {their: first + number for number, their in enumerate(changes.removed)}
    boxes = {their: place for place, their in changes.partners.items()} | own
    inputs, outputs = len(summary.operators), len(summary.operators) + len(summary.inputs)
    ends = zip(range(inputs, outputs), other.inputs, strict=False)
    givers = {note.index: number for number, note in ends}
    givers |= {index: boxes[maker] for index, maker in makers_of(other).items()}
    for their, operator in enumerate(other.operators):
        for giver in _given(operator.inputs, givers):
            if their in own or giver >= first:
                yield giver, boxes[their]
    for number, note in zip(range(outputs, first), other.outputs, strict=False):
        yield from ((giver, number) for giver in _given((note,), givers) if giver >= first)


def _given(notes: Iterable[TensorNote], givers: Mapping[int, int]) -> Iterator[int]:
    return (givers[note.index] for note in notes if note.index in givers)


_SWEEPS = 4


def layers(edges: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Return the nodes in layers from the top, each layer in order.

    The steps are the usual ones for layered drawings of directed graphs. A node stands one layer
    below the lowest node that it depends on. Within a layer, nodes are ordered by the middle of
    their neighbours, so that few edges cross.

    Args:
        edges: for each node the nodes that it depends on, all of them keys that come before it.
    """
    depth: dict[int, int] = {}
    for node, before in edges.items():
        depth[node] = 1 + max((depth[other] for other in before), default=-1)
    rows: list[list[int]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node in edges:
        rows[depth[node]].append(node)
    after: dict[int, list[int]] = {node: [] for node in edges}
    for node, before in edges.items():
        for other in before:
            after[other].append(node)
    for _ in range(_SWEEPS):
        _sort(rows, edges)
        _sort(rows[::-1], after)
    return rows


def positions(rows: Sequence[Sequence[int]]) -> dict[int, tuple[float, float]]:
    """Return the column and the row of each node; the middle of a layer is column 0."""
    return {
        node: (place - (len(row) - 1) / 2, float(level))
        for level, row in enumerate(rows)
        for place, node in enumerate(row)
    }


def _sort(rows: Sequence[list[int]], neighbours: Mapping[int, Sequence[int]]) -> None:
    places: dict[int, float] = {}
    for row in rows:
        own = {node: place - (len(row) - 1) / 2 for place, node in enumerate(row)}
        wanted = {
            node: fmean(
                [places[other] for other in neighbours[node] if other in places] or [own[node]]
            )
            for node in row
        }
        row.sort(key=lambda node: (wanted[node], own[node]))
        places |= {node: place - (len(row) - 1) / 2 for place, node in enumerate(row)}
