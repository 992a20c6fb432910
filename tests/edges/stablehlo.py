"""Operators of StableHLO, and others of windows, sparse rows and evenly spaced numbers."""

from collections.abc import Sequence

import numpy as np

from tests.edges.draw import Draw, drawn
from tests.edges.moves import moved


def _odd(draw: Draw, numbers: Sequence[int]) -> list[int]:
    """Return numbers; now and then one differs or is missing."""
    values = [*numbers]
    if values and draw.odd(0.03):
        values[0] += draw.choice(1, -1, -2, 2**31, -(2**31))
    return values[:-1] if draw.odd(0.01) else values


def _subgraph(draw: Draw, dtype: str, codes: Sequence[str]) -> int:
    """Return the number of a subgraph of one operator, or of none or two."""
    inner = draw.writer.subgraph()
    a, b, c = (inner.tensor(name, (), dtype) for name in "abc")
    code = str(draw.choice(*codes))
    if code:
        inner.operator(code, [a, b], [c])
    if draw.odd(0.02):
        inner.operator("STABLEHLO_ADD", [a, b], [inner.tensor("d", (), dtype)])
    inner.end([a, b], [c if code else b])
    return draw.writer.subgraphs + (draw.choice(1, -1) if draw.odd(0.02) else 0)


@drawn("FAKE_QUANT")
def grid(draw: Draw) -> None:
    data = draw.operand(draw.shape(), "float32")
    low, high = draw.choice(0.0, -1.0, -6.0, 0.5, -0.3), draw.choice(1.0, 6.0, 0.7, 0.0, -0.2)
    bits = draw.choice(8, 8, 1, 2, 4, 16, 0, 17, -1)
    ends = {"min": low, "max": high, "num_bits": bits, "narrow_range": draw.chance(0.05)}
    draw.make([data], ("float32", None), shape=(1,), **ends)


@drawn("EMBEDDING_LOOKUP_SPARSE")
def sparse_rows(draw: Draw) -> None:
    shape, count = draw.shape(1 if draw.chance(0.05) else 2, 4), draw.size()
    sizes = [draw.choice(1, 2, 3) for _ in range(draw.choice(1, 2, 2, 3))]
    places = draw.rng.integers(0, sizes, (count, len(sizes))).astype(np.int32)
    places = np.sort(places, 0) if draw.chance(0.5) else places
    rows = draw.rng.integers(0, max(shape[0], 1), count).astype(np.int32)
    weights = draw.rng.uniform(-1, 2, count).round(1).astype(np.float32)
    operands = [*map(draw.input, (rows, places)), draw.numbers(_odd(draw, sizes))]
    operands += [draw.input(weights), draw.operand(shape, "float32")]
    draw.make(operands, ("float32", None), combiner=draw.choice("SUM", "MEAN", "SQRTN"))


@drawn("STABLEHLO_PAD")
def put_around(draw: Draw) -> None:
    data, shape, result = moved(draw, draw.shape(0, 5))
    filler = draw.operand((), result[0], result[1])
    low, high = ([draw.choice(0, 0, 1, 2, -1, -3) for _ in shape] for _ in range(2))
    between = [draw.choice(0, 0, 1, 2) for _ in shape]
    draw.make(
        [data, filler],
        result,
        edge_padding_low=_odd(draw, low),
        edge_padding_high=_odd(draw, high),
        interior_padding=_odd(draw, between),
    )


@drawn("STABLEHLO_GATHER")
def take_slices(draw: Draw) -> None:
    data, shape, result = moved(draw, draw.shape(1, 4))
    rank, batch = len(shape), draw.shape(0, 2)
    named = [int(axis) for axis in draw.rng.permutation(rank)[: draw.choice(1, 1, 2)]]
    collapsed = sorted(axis for axis in named if draw.chance(0.5))
    sizes = [
        min(size, 1) if axis in collapsed else int(draw.rng.integers(size + 1))
        for axis, size in enumerate(shape)
    ]
    count = len(batch) + rank - len(collapsed)
    offsets = sorted(int(axis) for axis in draw.rng.permutation(count)[: rank - len(collapsed)])
    axis = int(draw.rng.integers(len(batch) + 1))
    where = (*batch[:axis], len(named), *batch[axis:])
    places = draw.rng.integers(-2, 9, where).astype(draw.choice("int32", "int32", "int64"))
    draw.make(
        [data, (draw.constant if draw.chance(0.3) else draw.input)(places)],
        result,
        shape=[1] * count,
        offset_dims=_odd(draw, offsets),
        collapsed_slice_dims=_odd(draw, collapsed),
        start_index_map=_odd(draw, named),
        index_vector_dim=axis,
        slice_sizes=_odd(draw, sizes),
    )


@drawn("STABLEHLO_SCATTER")
def put_slices(draw: Draw) -> None:
    data, shape, result = moved(draw, draw.shape(1, 4))
    rank, batch = len(shape), draw.shape(0, 2)
    named = [int(axis) for axis in draw.rng.permutation(rank)[: draw.choice(1, 1, 2)]]
    inserted = sorted(axis for axis in named if draw.chance(0.5))
    window = [int(draw.rng.integers(size + 2)) for i, size in enumerate(shape) if i not in inserted]
    count = len(batch) + len(window)
    of_window = sorted(int(axis) for axis in draw.rng.permutation(count)[: len(window)])
    sizes, others = iter(window), iter(batch)
    updates = [next(sizes) if axis in of_window else next(others) for axis in range(count)]
    axis = int(draw.rng.integers(len(batch) + 1))
    where = (*batch[:axis], len(named), *batch[axis:])
    # An index below 0 makes LiteRT write before its memory.
    places = draw.rng.integers(0, 9, where).astype(draw.choice("int32", "int32", "int64"))
    codes = ("", *(f"STABLEHLO_{name}" for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")))
    draw.make(
        [
            data,
            (draw.constant if draw.chance(0.3) else draw.input)(places),
            draw.operand(updates, result[0], result[1]),
        ],
        result,
        update_window_dims=of_window,
        inserted_window_dims=inserted,
        scatter_dims_to_operand_dims=named,
        index_vector_dim=axis,
        update_computation_subgraph_index=_subgraph(draw, result[0], codes),
    )


def _windows(draw: Draw, shape: Sequence[int]) -> list[list[int]]:
    """Return sizes, strides and dilations."""
    sizes = [draw.choice(1, 1, 1, 2, 3) for _ in shape]
    return [sizes, *([draw.choice(1, 1, 2) for _ in shape] for _ in range(2))]


@drawn("REDUCE_WINDOW")
def slide(draw: Draw) -> None:
    data, shape, result = moved(draw, draw.shape(0, 5))
    numbers = [draw.numbers(np.array(each), "int64") for each in _windows(draw, shape)]
    functions = ("ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY")
    function = "UNSUPPORTED" if draw.chance(0.02) else draw.choice(*functions)
    operands = [data, draw.operand((), *result), *numbers]
    draw.make(operands, result, reduce_function=function)


@drawn("STABLEHLO_REDUCE_WINDOW")
def slide_around(draw: Draw) -> None:
    data, shape, result = moved(draw, draw.shape(0, 4))
    sizes, strides, dilations = _windows(draw, shape)
    names = (*("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"), "SUBTRACT")
    codes = (*("ADD", "MUL", "MAXIMUM", "MINIMUM"), *(f"STABLEHLO_{name}" for name in names))
    draw.make(
        [data, draw.operand((), *result)],
        result,
        window_dimensions=_odd(draw, sizes),
        window_strides=_odd(draw, strides),
        base_dilations=_odd(draw, [draw.choice(1, 1, 2) for _ in shape]),
        window_dilations=_odd(draw, dilations),
        padding=_odd(draw, [draw.choice(0, 0, 1, -1) for _ in (*shape, *shape)]),
        body_subgraph_index=_subgraph(draw, result[0], codes),
    )
