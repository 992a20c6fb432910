"""Operators that compare, choose, sort, count and convert."""

from typing import Any

import numpy as np

from tests.edges.draw import Draw, drawn
from tests.edges.moves import moved


@drawn("SELECT", "SELECT_V2")
def select(draw: Draw) -> None:
    shape, dtype = draw.shape(0, 4), draw.dtype()
    encoding = draw.encoding(dtype)
    shapes = [shape] * 3
    if draw.code == "SELECT_V2" and draw.chance(0.5):
        shapes = [draw.like(shape) for _ in range(3)]
    elif draw.code == "SELECT" and draw.chance(0.3):
        shapes[0] = shape[:1]
    operands = [draw.operand(shapes[0], "bool")]
    operands += [draw.operand(each, dtype, encoding) for each in shapes[1:]]
    draw.make(operands, (dtype, encoding))


@drawn("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
def compare(draw: Draw) -> None:
    dtype, shape = draw.dtype(), draw.shape(0, 4)
    scale = draw.choice(0.05, 0.001, 0.4)
    encodings = [draw.encoding(dtype, scale) for _ in range(2)]
    if draw.chance(0.5):
        encodings[1] = encodings[0]
    shapes = [shape, draw.like(shape) if draw.chance(0.5) else shape]
    operands = [
        draw.operand(each, dtype, encoding)
        for each, encoding in zip(shapes, encodings, strict=True)
    ]
    draw.make(operands, ("bool", None))


@drawn("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")
def combine(draw: Draw) -> None:
    shape = draw.shape(0, 4)
    operands = [draw.operand(shape, "bool")]
    if draw.code != "LOGICAL_NOT":
        operands.append(draw.operand(draw.like(shape), "bool"))
    draw.make(operands, ("bool", None))


@drawn("CAST")
def cast(draw: Draw) -> None:
    source, result = draw.dtype(), draw.dtype()
    shape = draw.shape()
    if source != "float32":
        draw.make([draw.operand(shape, source)], (result, None))
        return
    odd = np.array([np.inf, -np.inf, np.nan, 3e9, -3e9, 1e19, 127.5, -0.9, 2147483520, 300])
    numbers = draw.rng.choice(odd, shape).astype(np.float32)
    draw.make([draw.input(np.asarray(numbers))], (result, None))


@drawn("BUCKETIZE")
def bucket(draw: Draw) -> None:
    dtype, shape = draw.dtype_of("int32", "int64", "float32"), draw.shape()
    limits = np.sort(draw.rng.normal(0, 2, draw.size())).astype(np.float32)
    if draw.chance(0.05):
        limits = limits[::-1]
    draw.make([draw.operand(shape, dtype)], ("int32", None), boundaries=limits)


@drawn("RFFT2D", "COMPLEX_ABS", "REAL", "IMAG")
def transform(draw: Draw) -> None:
    """Draw a transform and its reader, as a run does not show the transform itself."""
    shape = draw.shape(1, 4)
    lengths = [int(draw.choice(1, 2, 4, 8, draw.size())) for _ in range(2)]
    made = draw.writer.tensor("made", (1,), "complex64")
    draw.writer.operator("RFFT2D", [draw.operand(shape, "float32"), draw.numbers(lengths)], [made])
    if draw.code == "RFFT2D":
        draw.code = "COMPLEX_ABS"
    draw.make([made], ("float32", None))


@drawn("ONE_HOT")
def one_hot(draw: Draw) -> None:
    shape, dtype = draw.shape(0, 3), draw.dtype()
    size = draw.size()
    kind = str(draw.choice("int32", "int64"))
    places = draw.input(np.asarray(draw.rng.integers(-1, size + 1, shape)).astype(kind))
    encoding = draw.encoding(dtype)
    values = [draw.operand((), dtype, encoding) for _ in range(2)]
    axis = draw.choice(-1, -1, 0, draw.axis(len(shape) + 1))
    draw.make([places, draw.numbers(size), *values], (dtype, encoding), axis=axis)


@drawn("CUMSUM")
def cumsum(draw: Draw) -> None:
    dtype, shape = draw.dtype_of("int32", "int64", "float32"), draw.shape()
    data = draw.operand(shape, dtype)
    options: dict[str, Any] = {name: draw.chance(0.5) for name in ("exclusive", "reverse")}
    draw.make([data, draw.numbers(draw.axis(len(shape)))], (dtype, None), **options)


@drawn("TOPK_V2")
def top(draw: Draw) -> None:
    data, shape, result = moved(draw)
    most = shape[-1] if shape else 1
    count = int(draw.rng.integers(0, most + 1)) + (1 if draw.chance(0.03) else 0)
    draw.make([data, draw.numbers(count)], result, ("int32", None))


@drawn("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def suppress(draw: Draw) -> None:
    count = int(draw.rng.integers(1, 40))
    corners = draw.rng.integers(-4, 9, (count, 4)).astype(np.float32)
    scores = draw.rng.integers(0, 9, count).astype(np.float32)
    thresholds = [draw.choice(0.0, 0.3, 0.5, 1.0, 2.0), draw.choice(0.0, 3.0, -1.0)]
    thresholds += [0.0] if draw.code == "NON_MAX_SUPPRESSION_V5" else []
    operands = [draw.input(corners), draw.input(scores)]
    operands.append(draw.numbers(int(draw.rng.integers(0, count + 5))))
    operands += [draw.constant(np.array(value, np.float32)) for value in thresholds]
    results: list[tuple[str, Any]] = [("int32", None)] * 2
    if draw.code == "NON_MAX_SUPPRESSION_V5":
        results.insert(1, ("float32", None))
    draw.make(operands, *results)
