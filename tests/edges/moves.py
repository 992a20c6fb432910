"""Operators that move data, and those that find indices."""

from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.edges.draw import ENCODED, Draw, drawn

Moved = tuple[int, tuple[int, ...], tuple[str, Quantization | None]]


def moved(draw: Draw, shape: tuple[int, ...] | None = None) -> Moved:
    """Return the data, its shape, and the result, mostly of the same type and encoding."""
    shape = draw.shape() if shape is None else shape
    dtype = draw.dtype()
    encoding = None if draw.odd(0.15) else draw.encoding(dtype)
    data = draw.operand(shape, dtype, encoding)
    if draw.chance(0.05):
        return data, shape, (dtype, draw.encoding(dtype))
    if draw.odd(0.02):
        dtype = draw.dtype()
    return data, shape, (dtype, encoding if dtype in ENCODED else None)


@drawn("RESHAPE")
def reshape(draw: Draw) -> None:
    data, shape, result = moved(draw)
    count = int(np.prod(shape))
    factors = [size for size in (2, 3, 4) if count and count % size == 0]
    new = [*map(int, draw.rng.permutation(shape))]
    if draw.chance(0.5):
        first = int(draw.choice(*factors, 1))
        new = [first, count // first]
    if draw.odd(0.15):
        new = [0] if draw.chance(0.5) else []
    if new and draw.chance(0.4):
        new[int(draw.rng.integers(len(new)))] = -1
    if draw.odd(0.1):
        new = [*new, draw.choice(0, 1, -1, -2, 2)]
    options = {}
    operands = [data]
    kind = draw.choice("operand", "operand", "options", "both", "scalar operand")
    if kind in ("operand", "both"):
        operands.append(draw.numbers(np.array(new, np.int32)))
    elif kind == "scalar operand":
        operands.append(draw.numbers(np.int32(draw.choice(-1, count))))
    if kind in ("options", "both") or draw.chance(0.3):
        options["new_shape"] = draw.choice([0], [], [-1], [count]) if draw.odd(0.2) else new
    draw.make(operands, result, **options)


@drawn("BITCAST")
def read_as(draw: Draw) -> None:
    dtype, new = draw.dtype(), draw.dtype()
    parts = np.dtype(new).itemsize // np.dtype(dtype).itemsize
    shape = (*draw.shape(), parts) if parts > 1 and draw.chance(0.9) else draw.shape()
    data = draw.operand(shape, dtype, draw.encoding(dtype))
    draw.make([data], (new, draw.encoding(new)))


@drawn("LSH_PROJECTION")
def project(draw: Draw) -> None:
    dtype, shape = draw.dtype(), draw.shape(1)
    functions = draw.rng.normal(0, 1, (draw.size(), draw.choice(1, 2, 20, 31, 32, 33)))
    operands = [draw.input(functions.astype(np.float32)), draw.operand(shape, dtype)]
    if draw.chance(0.5):
        count = shape[0] + (draw.choice(-1, 1) if draw.chance(0.05) else 0)
        operands.append(draw.input(draw.rng.normal(0, 1, max(count, 0)).astype(np.float32)))
    draw.make(operands, ("int32", None), shape=(1,), type=draw.choice("SPARSE", "DENSE"))


@drawn("SQUEEZE")
def squeeze(draw: Draw) -> None:
    data, shape, result = moved(draw)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    dims = [axis - draw.choice(0, len(shape)) for axis in ones if draw.chance(0.5)]
    if draw.chance(0.1):
        dims.append(draw.axis(len(shape)))
    draw.make([data], result, **({"squeeze_dims": dims} if draw.chance(0.8) else {}))


@drawn("EXPAND_DIMS")
def expand_dims(draw: Draw) -> None:
    data, shape, result = moved(draw)
    axis = draw.axis(len(shape) + 1)
    draw.make([data, draw.numbers(np.array([axis]) if draw.chance(0.5) else axis)], result)


@drawn("TRANSPOSE")
def transpose(draw: Draw) -> None:
    data, shape, result = moved(draw)
    rank = len(shape)
    axes = [int(axis) - draw.choice(0, 0, rank) for axis in draw.rng.permutation(rank)]
    if axes and draw.odd(0.05):
        axes[0] = draw.axis(rank)
    draw.make([data, draw.numbers(np.array(axes, np.int32))], result)


@drawn("SPLIT")
def split(draw: Draw) -> None:
    data, shape, result = moved(draw)
    axis = draw.axis(len(shape))
    size = shape[axis] if -len(shape) <= axis < len(shape) else 1
    fits = [count for count in (1, 2, 3, 4) if size % count == 0 or draw.chance(0.05)]
    count = int(draw.choice(*fits))
    where = draw.numbers(axis if draw.chance(0.7) else [axis])
    draw.make([where, data], *[result] * count, num_splits=count)


@drawn("SPLIT_V")
def split_v(draw: Draw) -> None:
    data, shape, result = moved(draw)
    axis = draw.axis(len(shape))
    left = shape[axis] if -len(shape) <= axis < len(shape) else 1
    sizes = []
    for _ in range(draw.choice(0, 1, 2)):
        sizes.append(int(draw.rng.integers(left + 1)))
        left -= sizes[-1]
    sizes.append(left)
    if draw.chance(0.4):
        sizes[int(draw.rng.integers(len(sizes)))] = -1
    if draw.chance(0.05):
        sizes[0] += draw.choice(1, -1)
    operands = [data, draw.numbers(sizes), draw.numbers(axis if draw.chance(0.7) else [axis])]
    draw.make(operands, *[result] * len(sizes), num_splits=len(sizes))


@drawn("SLICE")
def cut(draw: Draw) -> None:
    data, shape, result = moved(draw)
    begins = [int(draw.rng.integers(size + 1)) for size in shape]
    sizes = [
        -1 if draw.chance(0.2) else int(draw.rng.integers(size - begin + 1))
        for begin, size in zip(begins, shape, strict=True)
    ]
    if shape and draw.chance(0.1):
        sizes[0] += draw.choice(1, 2, -1)
    if shape and draw.chance(0.05):
        begins[0] = -1
    kind = "int64" if draw.chance(0.2) else "int32"
    # LiteRT holds the rank that the file declares to the other one.
    operands = [data, draw.numbers(begins, kind), draw.numbers(sizes, kind)]
    draw.make(operands, result, shape=[1] * len(shape))


@drawn("STRIDED_SLICE")
def strided_slice(draw: Draw) -> None:
    data, shape, result = moved(draw)
    rank = len(shape)
    count = max(0, rank + draw.choice(0, 0, 0, -1, -2, 1, 2))
    # Bounds of the axis of the same number, or near it.
    extents = [shape[min(entry, rank - 1)] if rank else 1 for entry in range(count)]
    begins = [int(draw.rng.integers(-size - 2, size + 3)) for size in extents]
    ends = [int(draw.rng.integers(-size - 2, size + 3)) for size in extents]
    steps = [draw.choice(1, 1, 1, 2, 3, -1, -2, 0 if draw.chance(0.02) else 1) for _ in extents]
    if draw.chance(0.3):
        begins, ends, steps = [0] * count, list(extents), [1] * count
    masks: dict[str, Any] = {}
    for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis"):
        if draw.chance(0.35):
            bits = count + 1 if draw.chance(0.1) else count
            mask = int(draw.rng.integers(1 << bits))
            if name == "ellipsis" and draw.chance(0.8):
                mask = 1 << int(draw.rng.integers(bits + 1)) >> 1
            masks[f"{name}_mask"] = mask
    if draw.chance(0.03):
        masks["offset"] = 1
    numbers = [draw.numbers(np.array(values, np.int32)) for values in (begins, ends, steps)]
    draw.make([data, *numbers], result, **masks)


@drawn("PAD", "PADV2")
def pad(draw: Draw) -> None:
    shape = draw.shape()
    dtype = draw.computed_dtype()
    encoding = draw.encoding(dtype)
    data = draw.operand(shape, dtype, encoding)
    widths = draw.rng.integers(0, 3, (len(shape), 2))
    if len(shape) == 4 and draw.chance(0.4):
        widths[[0, 3]] = 0
    if shape and draw.chance(0.03):
        widths[0, 0] = -1
    kind = "int64" if draw.chance(0.2) else "int32"
    operands = [data, draw.numbers(widths, kind)]
    if draw.code == "PADV2":
        value = draw.data(dtype, draw.choice((), (), (1,), (1, 1)))
        operands.append(draw.constant(value, encoding))
    draw.make(operands, (dtype, encoding))


@drawn("CONCATENATION")
def concatenation(draw: Draw) -> None:
    shape = draw.shape()
    dtype = draw.computed_dtype()
    encoding = draw.encoding(dtype)
    axis = draw.axis(len(shape))
    operands: list[int] = []
    for _ in range(draw.choice(1, 2, 2, 3, 5)):
        part = list(shape)
        if operands and -len(shape) <= axis < len(shape):
            part[axis] = draw.size()
        may_differ = dtype in ("uint8", "int16")
        other = draw.encoding(dtype) if may_differ and draw.chance(0.5) else encoding
        operands.append(draw.operand(part, dtype, other))
    activation = draw.choice(*["NONE"] * 9, "RELU")
    draw.make(operands, (dtype, encoding), axis=axis, fused_activation_function=activation)


@drawn("ARG_MAX", "ARG_MIN")
def place(draw: Draw) -> None:
    shape, dtype = draw.shape(), draw.dtype()
    data = draw.operand(shape, dtype, draw.encoding(dtype))
    axis = draw.axis(len(shape))
    stated = str(draw.choice("int32", "int64"))
    declared = str(draw.choice(stated, stated, "int32", "int64", "float32"))
    kind = "int64" if draw.chance(0.2) else "int32"
    operands = [data, draw.numbers(axis if draw.chance(0.7) else [axis], kind)]
    options: dict[str, Any] = {"output_type": stated} if draw.chance(0.95) else {}
    draw.make(operands, (declared, None), **options)
