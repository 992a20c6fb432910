"""Operators that move data by indices, blocks and counts."""

from collections.abc import Sequence

import numpy as np

from tests.edges.draw import Draw, drawn
from tests.edges.moves import moved


@drawn("PACK")
def pack(draw: Draw) -> None:
    shape, dtype = draw.shape(0, 4), draw.dtype()
    encoding = None if draw.odd(0.15) else draw.encoding(dtype)
    count = draw.choice(1, 2, 2, 3, 5)
    operands = [draw.operand(shape, dtype, encoding) for _ in range(count)]
    if draw.chance(0.05):
        operands[0] = draw.operand(draw.like(shape), dtype, draw.encoding(dtype))
    result = (dtype, draw.encoding(dtype) if draw.chance(0.05) else encoding)
    draw.make(operands, result, axis=draw.axis(len(shape) + 1), values_count=count)


@drawn("UNPACK")
def unpack(draw: Draw) -> None:
    data, shape, result = moved(draw)
    axis = draw.axis(len(shape))
    count = shape[axis] if -len(shape) <= axis < len(shape) else 1
    count = max(count + (draw.choice(1, -1) if draw.odd(0.05) else 0), 1)
    draw.make([data], *[result] * count, axis=axis, num=count)


def indices(
    draw: Draw, shape: Sequence[int], size: int, dtype: str = "int32", below: float = 0.03
) -> int:
    """Return an operand of indices, given at run time or in the file, rarely below 0."""
    lowest = -1 if draw.chance(below) else 0
    array = np.asarray(draw.rng.integers(lowest, max(size, 1), tuple(shape))).astype(dtype)
    return (draw.constant if draw.chance(0.5) else draw.input)(array)


@drawn("GATHER")
def gather(draw: Draw) -> None:
    data, shape, result = moved(draw)
    axis = draw.axis(len(shape))
    front = axis % max(len(shape), 1)
    batches = int(draw.rng.integers(front + 1)) if draw.chance(0.3) else 0
    wanted = (*shape[:batches], *draw.shape(0, 2))
    size = shape[front] if shape else 1
    places = indices(draw, wanted, size, str(draw.choice("int32", "int32", "int64", "int16")))
    stated = batches - len(wanted) if batches and draw.chance(0.1) else batches
    draw.make([data, places], result, axis=axis, batch_dims=stated)


@drawn("GATHER_ND")
def gather_nd(draw: Draw) -> None:
    data, shape, result = moved(draw)
    depth = int(draw.rng.integers(0, len(shape) + 1)) if draw.chance(0.1) else min(len(shape), 2)
    size = min(shape[:depth], default=1)
    dtype = str(draw.choice("int32", "int32", "int64"))
    draw.make([data, indices(draw, (*draw.shape(0, 2), depth), size, dtype)], result)


@drawn("DYNAMIC_UPDATE_SLICE")
def update(draw: Draw) -> None:
    data, shape, result = moved(draw)
    part = [max(size - int(draw.rng.integers(3)), 0) for size in shape]
    if part and draw.chance(0.05):
        part[0] += 3
    other = draw.input(draw.data(result[0], tuple(part)))
    draw.make([data, other, indices(draw, (len(shape),), 4)], result, version=1)


@drawn("EMBEDDING_LOOKUP")
def embedding(draw: Draw) -> None:
    shape, dtype = draw.shape(1, 4), draw.dtype()
    encoding = draw.encoding(dtype)
    table = draw.operand(shape, dtype, encoding)
    draw.make([indices(draw, (draw.size(),), shape[0]), table], (dtype, encoding))


@drawn("TILE")
def tile(draw: Draw) -> None:
    data, shape, result = moved(draw)
    counts = [int(draw.choice(1, 1, 2, 3, 0 if draw.chance(0.1) else 1)) for _ in shape]
    draw.make([data, draw.numbers(counts, str(draw.choice("int32", "int64")))], result)


@drawn("BROADCAST_TO")
def broadcast(draw: Draw) -> None:
    data, shape, result = moved(draw, draw.shape(0, 5))
    sizes = [draw.size() if size == 1 and draw.chance(0.7) else size for size in shape]
    if sizes and draw.odd(0.05):
        sizes[0] += 1
    sizes = [*draw.shape(0, 5 - len(shape)), *sizes]
    draw.make([data, draw.numbers(sizes, str(draw.choice("int32", "int64")))], result)


@drawn("FILL")
def fill(draw: Draw) -> None:
    value, _, result = moved(draw, ())
    dims = draw.numbers(list(draw.shape()), str(draw.choice("int32", "int64")))
    draw.make([dims, value], result)


@drawn("MIRROR_PAD")
def mirror(draw: Draw) -> None:
    data, shape, result = moved(draw, draw.shape(0, 4))
    mode = str(draw.choice("REFLECT", "SYMMETRIC"))
    most = [max(0, size - (mode == "REFLECT")) for size in shape]
    widths = [[int(draw.rng.integers(min(each, 3) + 1)) for _ in range(2)] for each in most]
    if shape and draw.chance(0.05):
        widths[0][0] += draw.choice(1, -1)
    array = np.array(widths, np.int64).reshape(len(shape), 2)
    operands = [data, draw.numbers(array, str(draw.choice("int32", "int64")))]
    draw.make(operands, result, mode=mode)


@drawn("REVERSE_V2")
def reverse(draw: Draw) -> None:
    data, shape, result = moved(draw)
    draw.make([data, draw.numbers(np.array(draw.axes(len(shape)), np.int64))], result)


@drawn("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def depth(draw: Draw) -> None:
    size = draw.choice(1, 2, 2, 3, 0 if draw.chance(0.1) else 1)
    batch, rows, columns, channels = (int(each) for each in draw.rng.integers(0, 4, 4))
    if draw.code == "DEPTH_TO_SPACE":
        shape = (batch, rows, columns, channels * size * size)
    else:
        shape = (batch, rows * size, columns * size, channels)
    data, _, result = moved(draw, draw.shape() if draw.chance(0.05) else shape)
    draw.make([data], result, block_size=size)


@drawn("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def batch(draw: Draw) -> None:
    rank = draw.choice(1, 2, 2)
    sizes = [draw.choice(1, 2, 3) for _ in range(rank)]
    widths = [[int(draw.choice(0, 0, 1, 2)) for _ in range(2)] for _ in range(rank)]
    pictures, channels = draw.choice(0, 1, 1, 2), draw.size()
    space = [int(draw.rng.integers(1, 5)) * size for size in sizes]
    if draw.code == "SPACE_TO_BATCH_ND":
        if not draw.chance(0.05):
            space = [max(0, s - sum(width)) for s, width in zip(space, widths, strict=True)]
    else:
        pictures *= int(np.prod(sizes))
    data, _, result = moved(draw, (pictures, *space, channels))
    draw.make([data, draw.numbers(sizes), draw.numbers(widths)], result)
