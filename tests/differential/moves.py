"""Steps that move elements: joins, parts, pads, other shapes and sizes."""

from math import prod

import numpy as np

from tests.differential.graphs import Graph, Value, step


@step(int16=True)
def concatenate(graph: Graph, value: Value) -> Value:
    axis = int(graph.rng.integers(len(value.shape)))
    others = [value]
    for _ in range(int(graph.rng.integers(1, 3))):
        shape = list(value.shape)
        shape[axis] = int(graph.rng.integers(1, 20))
        if value.dtype == "int8":
            # TFLite joins int8 tensors of one encoding only.
            other = graph.input(shape, value.dtype, value.encoding)
        else:
            other = graph.input(shape, value.dtype)
        others.append(other)
    shape = list(value.shape)
    shape[axis] = sum(other.shape[axis] for other in others)
    result = graph.result(value, shape, None if value.dtype == "int8" else value.scale)
    graph.operator("CONCATENATION", [other.index for other in others], result, axis=axis)
    return result


@step(int16=True, ranks=(4,))
def pad(graph: Graph, value: Value) -> Value:
    widths = np.zeros((4, 2), np.int32)
    widths[1:3] = graph.rng.integers(0, 3, (2, 2))
    shape = tuple(size + int(sum(width)) for size, width in zip(value.shape, widths, strict=True))
    result = graph.result(value, shape)
    operands = [value.index, graph.constant(widths)]
    if graph.chance(0.5):
        graph.operator("PAD", operands, result)
    else:
        graph.operator("PADV2", [*operands, graph.filling(value, (1,))], result)
    return result


@step(int16=True, ranks=(4,))
def resize(graph: Graph, value: Value) -> Value | None:
    if max(value.shape[1:3]) > 20:
        return None
    code = str(graph.choice("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"))
    # Twice as large at most: LiteRT's bilinear kernel reads past the image where it grows more.
    sizes = [int(graph.rng.integers(1, 2 * size + 1)) for size in value.shape[1:3]]
    result = graph.result(value, (value.shape[0], *sizes, value.shape[3]))
    centers = bool(graph.chance(0.5))
    options = {"align_corners": not centers and graph.chance(0.5), "half_pixel_centers": centers}
    graph.operator(code, [value.index, graph.constant(sizes)], result, **options)
    return result


@step(int16=True)
def move(graph: Graph, value: Value) -> Value | None:
    if graph.chance(0.5):
        shape = (value.shape[0], prod(value.shape[1:]))
        result = graph.result(value, shape)
        graph.operator("RESHAPE", [value.index, graph.constant(shape)], result)
        return result
    if len(value.shape) > 4:
        return None
    axes = [int(axis) for axis in graph.rng.permutation(len(value.shape))]
    result = graph.result(value, [value.shape[axis] for axis in axes])
    graph.operator("TRANSPOSE", [value.index, graph.constant(axes)], result)
    return result


@step(int16=True)
def rank(graph: Graph, value: Value) -> Value | None:
    """One axis of size 1 more, or one less."""
    ones = [axis for axis, size in enumerate(value.shape) if size == 1]
    if ones and len(value.shape) > 1 and graph.chance(0.7):
        axis = int(graph.choice(*ones))
        shape = [size for number, size in enumerate(value.shape) if number != axis]
        result = graph.result(value, shape)
        graph.operator("SQUEEZE", [value.index], result, squeeze_dims=[axis])
        return result
    if len(value.shape) > 3:
        return None
    axis = int(graph.rng.integers(len(value.shape) + 1))
    shape = [*value.shape[:axis], 1, *value.shape[axis:]]
    result = graph.result(value, shape)
    graph.operator("EXPAND_DIMS", [value.index, graph.constant(np.int32(axis))], result)
    return result


@step(int16=True)
def split(graph: Graph, value: Value) -> Value | None:
    """Split into parts: one is read next, the others are outputs or are read later."""
    axis = int(graph.rng.integers(len(value.shape)))
    size = value.shape[axis]
    where = graph.constant(np.int32(axis))
    counts = [count for count in (2, 3, 4) if size % count == 0]
    if counts and graph.chance(0.6):
        count = int(graph.choice(*counts))
        parts = [_part(graph, value, axis, size // count) for _ in range(count)]
        graph.operator("SPLIT", [where, value.index], *parts, num_splits=count)
    elif size > 1:
        first = int(graph.rng.integers(1, size))
        parts = [_part(graph, value, axis, length) for length in (first, size - first)]
        operands = [value.index, graph.constant([first, size - first]), where]
        graph.operator("SPLIT_V", operands, *parts, num_splits=2)
    else:
        return None
    return parts[int(graph.rng.integers(len(parts)))]


def _part(graph: Graph, value: Value, axis: int, size: int) -> Value:
    return graph.result(value, [*value.shape[:axis], size, *value.shape[axis + 1 :]])


@step(weight=2, int16=True, ranks=range(5))
def cut(graph: Graph, value: Value) -> Value:
    begins = [int(graph.rng.integers(size)) for size in value.shape]
    ends = [
        int(graph.rng.integers(begin, size)) + 1
        for begin, size in zip(begins, value.shape, strict=True)
    ]
    if graph.chance(0.5):
        sizes = [end - begin for begin, end in zip(begins, ends, strict=True)]
        result = graph.result(value, sizes)
        operands = [value.index, graph.constant(begins), graph.constant(sizes)]
        graph.operator("SLICE", operands, result)
        return result
    steps = [int(graph.choice(1, 1, 2, 3)) for _ in begins]
    opened = int(graph.rng.integers(1 << len(begins)))
    shape = [
        len(range(0 if opened >> axis & 1 else begin, end, each))
        for axis, (begin, end, each) in enumerate(zip(begins, ends, steps, strict=True))
    ]
    shrinks = len(begins) > 1 and graph.chance(0.2)
    result = graph.result(value, shape[1:] if shrinks else shape)
    graph.operator(
        "STRIDED_SLICE",
        [value.index, *(graph.constant(numbers) for numbers in (begins, ends, steps))],
        result,
        begin_mask=opened & ~1 if shrinks else opened,
        shrink_axis_mask=1 if shrinks else 0,
    )
    return result
