"""Steps of StableHLO: padding, slices at indices, and windows."""

from math import prod

import numpy as np

from tests.differential.graphs import Graph, Value, step
from tests.support.tflite_graphs import combining

_CODES = ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")


@step(int16=True)
def put_around(graph: Graph, value: Value) -> Value | None:
    """Put a value around and between elements, or leave some out."""
    if prod(value.shape) > 2000:
        return None
    low, high, between, sizes = [], [], [], []
    for size in value.shape:
        step_size = int(graph.choice(1, 1, 2, 3))
        before, behind = (int(each) for each in graph.rng.integers(-1, 3, 2))
        wanted = before + (size - 1) * step_size + 1 + behind
        if wanted < 1:
            before, behind, wanted = 0, 0, (size - 1) * step_size + 1
        low.append(before)
        high.append(behind)
        between.append(step_size - 1)
        sizes.append(wanted)
    if prod(sizes) > 20_000:
        return None
    result = graph.result(value, sizes)
    edges = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": between}
    graph.operator("STABLEHLO_PAD", [value.index, graph.filling(value)], result, **edges)
    return result


@step(int16=True)
def take_slices(graph: Graph, value: Value) -> Value:
    """Take slices of one size at indices along some axes; some indices are out of range."""
    rank = len(value.shape)
    named = sorted(int(axis) for axis in graph.rng.permutation(rank)[: graph.rng.integers(1, 3)])
    collapsed = [axis for axis in named if graph.chance(0.5)]
    sizes = [
        1 if axis in collapsed else int(graph.rng.integers(1, size + 1)) if axis in named else size
        for axis, size in enumerate(value.shape)
    ]
    count = int(graph.rng.integers(1, 4))
    most = max(value.shape) + 2
    places = graph.rng.integers(-2, most, (count, len(named))).astype(np.int32)
    kept = [size for axis, size in enumerate(sizes) if axis not in collapsed]
    place = int(graph.rng.integers(len(kept) + 1))
    shape = [*kept[:place], count, *kept[place:]]
    result = graph.result(value, shape)
    graph.operator(
        "STABLEHLO_GATHER",
        [value.index, graph.aside(places)],
        result,
        offset_dims=[axis for axis in range(len(shape)) if axis != place],
        collapsed_slice_dims=collapsed,
        start_index_map=named,
        index_vector_dim=1,
        slice_sizes=sizes,
    )
    return result


@step(int16=True)
def put_slices(graph: Graph, value: Value) -> Value | None:
    """Put rows at indices, or combine them with the rows there."""
    if prod(value.shape) > 4000:
        return None
    count, rows = int(graph.rng.integers(1, 5)), value.shape[0]
    places = graph.rng.integers(0, rows + 2, (count, 1)).astype(np.int32)
    updates = graph.input((count, *value.shape[1:]), value.dtype, value.encoding)
    code = f"STABLEHLO_{graph.choice(*_CODES)}" if graph.chance(0.7) else ""
    result = graph.result(value, value.shape)
    graph.operator(
        "STABLEHLO_SCATTER",
        [value.index, graph.aside(places), updates.index],
        result,
        update_window_dims=[*range(1, len(value.shape))],
        inserted_window_dims=[0],
        scatter_dims_to_operand_dims=[0],
        index_vector_dim=1,
        update_computation_subgraph_index=_combining(graph, value, code),
    )
    return result


@step(weight=2, int16=True)
def slide(graph: Graph, value: Value) -> Value | None:
    """Reduce windows."""
    if prod(value.shape) > 4000:
        return None
    window = [min(size, int(graph.choice(1, 1, 1, 2, 3))) for size in value.shape]
    strides = [int(graph.choice(1, 1, 2)) for _ in value.shape]
    start = graph.filling(value)
    ones = [1] * len(value.shape)
    if graph.chance(0.5):
        numbers = [np.array(each, np.int64) for each in (window, strides, ones)]
        sizes = [graph.tensor(each.shape, "int64", None, each).index for each in numbers]
        result = graph.result(value, _counts(value.shape, window, strides))
        function = str(graph.choice("ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"))
        operands = [value.index, start, *sizes]
        graph.operator("REDUCE_WINDOW", operands, result, reduce_function=function)
        return result
    padding = [int(each) for each in graph.rng.integers(0, 2, 2 * len(value.shape))]
    padded = [
        size + before + behind
        for size, before, behind in zip(value.shape, padding[::2], padding[1::2], strict=True)
    ]
    result = graph.result(value, _counts(padded, window, strides))
    graph.operator(
        "STABLEHLO_REDUCE_WINDOW",
        [value.index, start],
        result,
        window_dimensions=window,
        window_strides=strides,
        base_dilations=ones,
        window_dilations=ones,
        padding=padding,
        body_subgraph_index=_combining(graph, value, f"STABLEHLO_{graph.choice(*_CODES)}"),
    )
    return result


def _counts(shape: list[int] | tuple[int, ...], window: list[int], strides: list[int]) -> list[int]:
    """Return how many windows there are along each axis."""
    return [
        (size - taps) // stride + 1
        for size, taps, stride in zip(shape, window, strides, strict=True)
    ]


def _combining(graph: Graph, value: Value, code: str) -> int:
    """Return the number of a subgraph that combines two numbers by an operator, or by none."""
    return combining(code, value.dtype, value.encoding).add_to(graph.writer)
