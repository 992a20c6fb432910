"""Operators that put rows at indices and elements on diagonals, and that work on bits."""

import numpy as np

from tests.edges.draw import Draw, drawn
from tests.edges.moves import moved
from tests.edges.places import indices


@drawn("SCATTER_ND")
def scatter(draw: Draw) -> None:
    parts, sizes, result = moved(draw, draw.shape(0, 5))
    rank = int(draw.rng.integers(0, min(len(sizes), 2) + 1))
    batch, depth = sizes[:rank], draw.choice(1, 1, 2)
    shape = [draw.size() for _ in range(depth)] + [*sizes[rank:]]
    if draw.odd(0.05):
        shape.append(2)
    places = indices(draw, (*batch, depth), min(shape[:depth]), below=0.05)
    draw.make([places, parts, draw.numbers(shape)], result)


@drawn("SPARSE_TO_DENSE")
def dense(draw: Draw) -> None:
    shape, count = draw.shape(0, 4), draw.size()
    depth = len(shape)
    values, _, result = moved(draw, draw.choice((count,), (count,), (), (1,)))
    filler = draw.input(draw.data(result[0], draw.choice((), (), (1,), (2,))), result[1])
    places = (count, depth)
    if depth == 1:
        places = draw.choice((count,), (), (count, 1))
    size, kind = min(shape, default=1), str(draw.choice("int32", "int64"))
    # LiteRT's kernel writes beyond the tensor at indices out of range.
    if 0 in shape:
        places = (0, depth)
    array = np.asarray(draw.rng.integers(0, max(size, 1), places)).astype(kind)
    operands = [draw.constant(array) if draw.chance(0.5) else draw.input(array)]
    operands += [draw.constant(np.array(shape, str(draw.choice("int32", kind)))), values, filler]
    draw.make(operands, result)


@drawn(*(f"UNSORTED_SEGMENT_{name}" for name in ("MAX", "MIN", "PROD", "SUM")))
def segments(draw: Draw) -> None:
    dtype, shape = draw.dtype_of("int32", "float32"), draw.shape(0, 4)
    rank = int(draw.rng.integers(0, len(shape) + 1))
    ids = shape[:rank]
    if draw.chance(0.05):
        ids = draw.like(ids)
    count = int(draw.rng.integers(0, 6))
    operands = [
        draw.operand(shape, dtype),
        indices(draw, ids, count, below=0.05),
        draw.numbers(count),
    ]
    draw.make(operands, (dtype, None))


@drawn("SEGMENT_SUM")
def segments_in_order(draw: Draw) -> None:
    dtype, shape = draw.dtype_of("int32", "float32"), draw.shape(1, 4)
    ids = np.cumsum(draw.rng.integers(0, 2, shape[0])).astype(np.int32)
    ids -= ids[:1].sum(dtype=np.int32)
    if draw.chance(0.05):
        ids = ids[::-1]
    draw.make([draw.operand(shape, dtype), draw.constant(ids)], (dtype, None))


@drawn("HASHTABLE_LOOKUP")
def look_up(draw: Draw) -> None:
    shape = draw.shape(1, 4)
    values, _, result = moved(draw, shape)
    keys = np.sort(draw.rng.choice(999, shape[0], replace=False)).astype(np.int32)
    if draw.chance(0.05):
        keys = keys[:-1]
    wanted = indices(draw, draw.choice((draw.size(),), (draw.size(),), (), (2, 2)), 999, below=0.05)
    if keys.size and draw.chance(0.5):
        wanted = draw.input(draw.rng.choice(keys, draw.size()))
    draw.make([wanted, draw.input(keys), values], result, ("uint8", None))


@drawn("MATRIX_DIAG", "MATRIX_SET_DIAG")
def diagonal(draw: Draw) -> None:
    shape, dtype = draw.shape(0, 4), draw.dtype()
    if dtype == "bool":  # LiteRT writes beyond the result
        dtype = "float32"
    encoding = draw.encoding(dtype)
    operands = [draw.operand(shape, dtype, encoding)]
    if draw.code == "MATRIX_SET_DIAG":
        wanted = (*shape[:-2], min(shape[-2:], default=1))
        operands.append(draw.operand(wanted, dtype, encoding))
    draw.make(operands, (dtype, encoding))


@drawn("DILATE")
def dilate(draw: Draw) -> None:
    data, shape, result = moved(draw)
    # By other steps LiteRT writes beyond the result, and may die of it several models later.
    steps = [int(draw.choice(1, 1, 2, 3)) for _ in shape]
    filler = draw.data(result[0], draw.choice((), (), (), (1,)))
    draw.make([data, draw.numbers(steps), draw.constant(filler, result[1])], result)


@drawn("REVERSE_SEQUENCE")
def turn_back(draw: Draw) -> None:
    # LiteRT dies of data without elements.
    data, shape, result = moved(draw, tuple(max(size, 1) for size in draw.shape()))
    rank = len(shape)
    along, batch = (int(draw.rng.integers(max(rank, 1))) for _ in range(2))
    if draw.chance(0.05):
        along, batch = draw.axis(rank), draw.axis(rank)
    size = shape[along] if along < rank else 1
    count = shape[batch] if batch < rank else 1
    lengths = draw.rng.integers(0, size + 1, count).astype(draw.choice("int32", "int64"))
    operands = [data, draw.constant(lengths) if draw.chance(0.3) else draw.input(lengths)]
    draw.make(operands, result, seq_dim=along, batch_dim=batch)


@drawn(
    *("BITWISE_XOR", "RIGHT_SHIFT", "STABLEHLO_ADD", "STABLEHLO_AND", "STABLEHLO_MAXIMUM"),
    *("STABLEHLO_MINIMUM", "STABLEHLO_MULTIPLY"),
)
def bits(draw: Draw) -> None:
    data, shape, result = moved(draw)
    is_same = draw.code.startswith("STABLEHLO") and draw.chance(0.9)
    wanted = shape if is_same else draw.like(shape)
    if draw.code == "RIGHT_SHIFT" and result[0] in ("int8", "uint8", "int16", "int32"):
        counts = draw.rng.integers(0 if result[0] == "uint8" else -3, 40, wanted)
        other = draw.input(counts.astype(result[0]), result[1])
    else:
        other = draw.operand(wanted, result[0], result[1])
    draw.make([data, other], result)


@drawn("STABLEHLO_SHIFT_LEFT")
def shift(draw: Draw) -> None:
    data, shape, (dtype, encoding) = moved(draw)
    # C++ does not define shifts by other counts.
    counts = draw.rng.integers(0, 32, shape if draw.chance(0.9) else draw.like(shape))
    draw.make([data, draw.input(counts.astype(dtype), encoding)], (dtype, encoding))
