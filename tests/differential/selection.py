"""Steps that move elements by indices and blocks, repeat them, and choose among them."""

from math import prod

import numpy as np

from tests.differential.graphs import Graph, Value, step


@step(int16=True, ranks=range(4))
def stack(graph: Graph, value: Value) -> Value:
    """Put two alike on one axis more, and now and then take them apart again."""
    axis = int(graph.rng.integers(len(value.shape) + 1))
    other = graph.input(value.shape, value.dtype, value.encoding)
    both = graph.result(value, [*value.shape[:axis], 2, *value.shape[axis:]])
    operands = [value.index, other.index]
    graph.operator("PACK", operands, both, axis=axis, values_count=2)
    if graph.chance(0.4):
        return both
    parts = [graph.result(value, value.shape) for _ in range(2)]
    graph.operator("UNPACK", [both.index], *parts, axis=axis, num=2)
    return parts[int(graph.rng.integers(2))]


@step(int16=True)
def gather(graph: Graph, value: Value) -> Value:
    axis = int(graph.rng.integers(len(value.shape)))
    count = int(graph.rng.integers(1, 6))
    if graph.chance(0.6):
        places = graph.rng.integers(0, value.shape[axis], count).astype(np.int32)
        result = graph.result(value, [*value.shape[:axis], count, *value.shape[axis + 1 :]])
        graph.operator("GATHER", [value.index, graph.constant(places)], result, axis=axis)
        return result
    if graph.chance(0.5) and len(value.shape) > 1:  # a table has rows
        rows = graph.aside(graph.rng.integers(0, value.shape[0], count).astype(np.int32))
        result = graph.result(value, [count, *value.shape[1:]])
        graph.operator("EMBEDDING_LOOKUP", [rows, value.index], result)
        return result
    sizes = value.shape[:2]
    pairs = np.stack([graph.rng.integers(0, size, count) for size in sizes], 1)
    result = graph.result(value, [count, *value.shape[2:]])
    graph.operator("GATHER_ND", [value.index, graph.aside(pairs.astype(np.int32))], result)
    return result


@step(int16=True)
def update(graph: Graph, value: Value) -> Value:
    """Put a part of its own encoding anywhere, or beyond."""
    part = [int(graph.rng.integers(1, size + 1)) for size in value.shape]
    begins = graph.rng.integers(-1, max(value.shape) + 1, len(part)).astype(np.int32)
    where = graph.constant(begins) if graph.chance(0.5) else graph.aside(begins)
    other = graph.aside(graph.data(value.dtype, tuple(part)), value.encoding)
    result = graph.result(value, value.shape)
    graph.operator("DYNAMIC_UPDATE_SLICE", [value.index, other, where], result, version=1)
    return result


@step(int16=True)
def repeat(graph: Graph, value: Value) -> Value | None:
    if prod(value.shape) > 4000:
        return None
    if graph.chance(0.5):
        counts = [int(graph.choice(1, 1, 2)) for _ in value.shape]
        result = graph.result(value, [a * b for a, b in zip(value.shape, counts, strict=True)])
        graph.operator("TILE", [value.index, graph.constant(counts)], result)
        return result
    shape = [int(graph.choice(2, 3)) if size == 1 else size for size in value.shape]
    result = graph.result(value, shape)
    graph.operator("BROADCAST_TO", [value.index, graph.constant(shape)], result, version=2)
    return result


@step(int16=True)
def fill(graph: Graph, value: Value) -> Value:
    one = graph.aside(np.asarray(graph.data(value.dtype, ())), value.encoding)
    result = graph.result(value, value.shape)
    graph.operator("FILL", [graph.constant(list(value.shape)), one], result)
    return result


@step(int16=True, ranks=range(5))
def turn(graph: Graph, value: Value) -> Value:
    if graph.chance(0.5):
        result = graph.result(value, value.shape)
        axis = graph.constant([int(graph.rng.integers(len(value.shape)))])
        graph.operator("REVERSE_V2", [value.index, axis], result)
        return result
    mode = str(graph.choice("REFLECT", "SYMMETRIC"))
    most = [min(size - (mode == "REFLECT"), 2) for size in value.shape]
    widths = np.array([graph.rng.integers(0, each + 1, 2) for each in most])
    sizes = [size + int(sum(each)) for size, each in zip(value.shape, widths, strict=True)]
    result = graph.result(value, sizes)
    graph.operator("MIRROR_PAD", [value.index, graph.constant(widths)], result, mode=mode)
    return result


@step(weight=2, int16=True, ranks=(4,))
def blocks(graph: Graph, value: Value) -> Value:
    size, (batch, height, width, depth) = int(graph.choice(1, 2, 3)), value.shape
    area = size * size
    codes = ["SPACE_TO_BATCH_ND"]
    if depth % area == 0:
        codes.append("DEPTH_TO_SPACE")
    if height % size == width % size == 0:
        codes.append("SPACE_TO_DEPTH")
    if value.dtype == "int16":  # LiteRT has neither
        codes = codes[:1]
    if batch % area == 0 and width * size > 1:
        codes.append("BATCH_TO_SPACE_ND")
    code = str(graph.choice(*codes))
    if code == "DEPTH_TO_SPACE":
        result = graph.result(value, (batch, height * size, width * size, depth // area))
        graph.operator(code, [value.index], result, block_size=size)
    elif code == "SPACE_TO_DEPTH":
        result = graph.result(value, (batch, height // size, width // size, depth * area))
        graph.operator(code, [value.index], result, block_size=size)
    elif code == "SPACE_TO_BATCH_ND":
        rest = [-height % size, -width % size]
        shape = (batch * area, (height + rest[0]) // size, (width + rest[1]) // size, depth)
        result = graph.result(value, shape)
        widths = graph.constant([[rest[0], 0], [0, rest[1]]])
        graph.operator(code, [value.index, graph.constant([size, size]), widths], result)
    else:
        result = graph.result(value, (batch // area, height * size, width * size - 1, depth))
        widths = graph.constant([[0, 0], [1, 0]])
        graph.operator(code, [value.index, graph.constant([size, size]), widths], result)
    return result


@step(weight=4, int16=True, ranks=range(5))
def choose(graph: Graph, value: Value) -> Value | None:
    """Compare with another tensor, combine two comparisons, and choose by them."""
    other = graph.input(value.shape, value.dtype, value.encoding)
    if value.encoding is not None and value.scale >= 0.99:  # LiteRT ends the process
        return None
    flags = []
    codes: tuple[str, ...] = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    codes = codes[:1] if value.dtype == "bool" else codes
    if value.dtype != "int16":  # which LiteRT's NOT_EQUAL reads as another type
        codes += ("NOT_EQUAL",)
    for _ in range(2):
        code = str(graph.choice(*codes))
        flags.append(graph.tensor(value.shape, "bool", None))
        graph.operator(code, [value.index, other.index], flags[-1])
    joined = graph.tensor(value.shape, "bool", None)
    join = str(graph.choice("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"))
    operands = [flag.index for flag in flags[: 1 if join == "LOGICAL_NOT" else 2]]
    graph.operator(join, operands, joined)
    result = graph.result(value, value.shape)
    code = str(graph.choice("SELECT", "SELECT_V2"))
    graph.operator(code, [joined.index, value.index, other.index], result)
    return result


@step(weight=2, int16=True, ranks=range(5))
def count(graph: Graph, value: Value) -> Value | None:
    """Ends in numbers, from which nothing grows."""
    if prod(value.shape) > 3000:
        return None
    numbers = graph.tensor(value.shape, "int32", None)
    graph.operator("CAST", [value.index], numbers)
    if graph.chance(0.5):
        sums = graph.tensor(value.shape, "int32", None)
        axis = graph.constant(np.int32(graph.rng.integers(len(value.shape))))
        options = {"exclusive": graph.chance(0.5), "reverse": graph.chance(0.5)}
        graph.operator("CUMSUM", [numbers.index, axis], sums, **options)
        return value
    depth = int(graph.rng.integers(1, 5))
    named = graph.tensor([*value.shape, depth], "float32", None)
    ends = [graph.constant(np.float32(each)) for each in (1.5, -0.5)]
    operands = [numbers.index, graph.constant(np.int32(depth)), *ends]
    graph.operator("ONE_HOT", operands, named, axis=-1)
    return value


@step(int16=True)
def top(graph: Graph, value: Value) -> Value:
    most = int(graph.rng.integers(1, value.shape[-1] + 1))
    result = graph.result(value, [*value.shape[:-1], most])
    places = graph.tensor([*value.shape[:-1], most], "int32", None)
    graph.operator("TOPK_V2", [value.index, graph.constant(np.int32(most))], result, places)
    return result
