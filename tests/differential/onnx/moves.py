"""Steps that move values about: joins, and changes of shape."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.differential.onnx.graphs import Graph, Value, step


@step(weight=2)
def concat(graph: Graph, value: Value) -> Value:
    rank = len(value.shape)
    axis = int(graph.rng.integers(rank))
    parts = [value]
    for _ in range(int(graph.rng.integers(1, 4))):
        shape = list(value.shape)
        like = [v for v in graph.values if _fits(v.shape, value.shape, axis)]
        if graph.chance(0.6):
            parts.append(graph.choice(*like))
            continue
        shape[axis] = int(graph.rng.integers(1, 5))
        scale, point = graph.encoding(value.scale)
        known = graph.chance(0.3)
        parts.append(graph.held(graph.data(shape), scale, point) if known else graph.input(shape))
    whole = list(value.shape)
    whole[axis] = sum(part.shape[axis] for part in parts)
    result = graph.result(whole, max(part.scale for part in parts))
    if graph.chance(0.3):  # copied where it has the result's encoding
        result = Value("", tuple(whole), value.scales, value.point, value.encoding)
    return graph.group("Concat", parts, result, axis=int(graph.choice(axis, axis - rank)))


def _fits(shape: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    ends = [(*each[:axis], *each[axis + 1 :]) for each in (shape, other)]
    return len(shape) == len(other) and ends[0] == ends[1]


@step()
def flatten(graph: Graph, value: Value) -> Value:
    axis = int(graph.choice(1, 1, 1, 0, len(value.shape)))
    shape = (prod(value.shape[:axis]), prod(value.shape[axis:]))
    return graph.moved("Flatten", value, shape, axis=axis)


@step()
def reshape(graph: Graph, value: Value) -> Value:
    shape = list(value.shape)
    if len(shape) > 1 and graph.chance(0.6):
        place = int(graph.rng.integers(len(shape) - 1))
        shape[place : place + 2] = [shape[place] * shape[place + 1]]
    else:
        shape = [int(size) for size in graph.rng.permutation(shape)]
    asked = list(shape)
    if graph.chance(0.3):
        asked[int(graph.rng.integers(len(asked)))] = -1
    return graph.moved("Reshape", value, shape, np.array(asked, np.int64))


@step()
def transpose(graph: Graph, value: Value) -> Value:
    order = [int(axis) for axis in graph.rng.permutation(len(value.shape))]
    shape = [value.shape[axis] for axis in order]
    if graph.chance(0.15):
        return graph.moved("Transpose", value, value.shape[::-1])
    return graph.moved("Transpose", value, shape, perm=order)


@step()
def squeeze(graph: Graph, value: Value) -> Value | None:
    axes = [i for i, size in enumerate(value.shape) if size == 1]
    if not axes or len(value.shape) < 3:
        return None
    axes = axes[:1] if graph.chance(0.5) else axes[: len(value.shape) - 2]
    shape = [size for i, size in enumerate(value.shape) if i not in axes]
    return graph.moved("Squeeze", value, shape, np.array(axes, np.int64))


@step()
def unsqueeze(graph: Graph, value: Value) -> Value | None:
    rank = len(value.shape)
    if rank > 4:
        return None
    place = int(graph.rng.integers(rank + 1))
    shape = [*value.shape[:place], 1, *value.shape[place:]]
    axis = graph.choice(place, place - rank - 1)
    return graph.moved("Unsqueeze", value, shape, np.array([axis], np.int64))


@step()
def identity(graph: Graph, value: Value) -> Value:
    return graph.moved("Identity", value, value.shape)
