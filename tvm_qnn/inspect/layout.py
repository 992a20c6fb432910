"""Computes where a graph's operators stand in its drawing.

The steps are the usual ones for layered drawings of directed graphs. A node stands one layer below
the lowest node that it depends on. Within a layer, nodes are ordered by the middle of their
neighbours, so that few edges cross.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

_SWEEPS = 4


def layers(edges: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Return the nodes in layers from the top, each layer in order.

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
