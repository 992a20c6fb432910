"""Steps that move values about: joins, and changes of shape."""

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


@step()
def pad(graph: Graph, value: Value) -> Value:
    rank = len(value.shape)
    widths = graph.rng.integers(0, 3, 2 * rank) * (graph.rng.random(2 * rank) < 0.4)
    shape = [size + int(widths[i] + widths[i + rank]) for i, size in enumerate(value.shape)]
    # With real zeros: integers would have the zero point.
    node = graph.node("Pad", [graph.real(value), graph.constant(widths.astype(np.int64))])
    result = Value("", tuple(shape), value.scales, value.point, value.encoding)
    if graph.chance(1 / 8):
        result = graph.result(shape, value.scale)
    return graph.add(graph.node("QuantizeLinear", [node, *result.encoding]), result)


@step()
def cut(graph: Graph, value: Value) -> Value:
    axis = int(graph.rng.integers(len(value.shape)))
    begin = int(graph.rng.integers(value.shape[axis]))
    end = int(graph.rng.integers(begin + 1, value.shape[axis] + 1))
    pace = int(graph.choice(1, 1, 2))
    shape = list(value.shape)
    shape[axis] = -(-(end - begin) // pace)
    ends = (np.array([each], np.int64) for each in (begin, end, axis, pace))
    return graph.moved("Slice", value, shape, *ends)


@step()
def gather(graph: Graph, value: Value) -> Value:
    axis = int(graph.rng.integers(len(value.shape)))
    places = graph.rng.integers(-value.shape[axis], value.shape[axis], 3)
    shape = [*value.shape[:axis], 3, *value.shape[axis + 1 :]]
    return graph.moved("Gather", value, shape, places.astype(np.int64), axis=axis)


@step()
def repeat(graph: Graph, value: Value) -> Value | None:
    times = graph.rng.integers(1, 3, len(value.shape))
    if prod(value.shape) > 2000:
        return None
    shape = [size * int(time) for size, time in zip(value.shape, times, strict=True)]
    return graph.moved("Tile", value, shape, times.astype(np.int64))


@step(ranks=(4,))
def blocks(graph: Graph, value: Value) -> Value | None:
    batch, depth, height, width = value.shape
    if depth % 4 == 0:
        mode = str(graph.choice("DCR", "CRD"))
        shape = (batch, depth // 4, height * 2, width * 2)
        return graph.moved("DepthToSpace", value, shape, blocksize=2, mode=mode)
    if height % 2 or width % 2:
        return None
    shape = (batch, depth * 4, height // 2, width // 2)
    return graph.moved("SpaceToDepth", value, shape, blocksize=2)


@step()
def other_dtype(graph: Graph, value: Value) -> Value:
    """Quantize to another dtype, and back."""
    dtype = str(graph.choice("int16", "uint16", "int8", "uint8"))
    bits, step_size = 8 * np.dtype(dtype).itemsize, value.scale * float(graph.rng.uniform(0.5, 2))
    info = np.iinfo(dtype)
    point = int(graph.rng.integers(info.min, info.max))
    encoding = graph.encoded(step_size * 2.0 ** (8 - bits), point, dtype)
    domain = "com.microsoft" if bits > 8 else ""
    between = graph.node("QuantizeLinear", [graph.real(value), *encoding], domain=domain)
    real = graph.node("DequantizeLinear", [between, *encoding], domain=domain)
    result = graph.result(value.shape, value.scale)
    return graph.add(graph.node("QuantizeLinear", [real, *result.encoding]), result)
