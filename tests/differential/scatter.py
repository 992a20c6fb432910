"""Steps that put elements at indices, normalize rows, and work on bits."""

from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential.graphs import Graph, Value, step


@step(ranks=range(5))
def put(graph: Graph, value: Value) -> Value:
    """Put rows at indices, some of them repeated."""
    rows = int(graph.rng.integers(1, 6))
    places = graph.rng.integers(0, rows, (value.shape[0], 1)).astype(np.int32)
    shape = (rows, *value.shape[1:])
    result = graph.result(value, shape)
    operands = [graph.aside(places), value.index, graph.constant(list(shape))]
    graph.operator("SCATTER_ND", operands, result)
    return result


@step(int16=True, ranks=range(2, 5))
def look_up(graph: Graph, value: Value) -> Value:
    """Take rows by keys, some of which exist."""
    count = int(graph.rng.integers(1, 6))
    keys = np.sort(graph.rng.choice(999, value.shape[0], replace=False)).astype(np.int32)
    wanted = graph.rng.integers(0, 99, count).astype(np.int32)
    wanted[0] = keys[0]
    result = graph.result(value, (count, *value.shape[1:]))
    hits = graph.tensor((count,), "uint8", None)
    operands = [graph.aside(wanted), graph.aside(keys), value.index]
    graph.operator("HASHTABLE_LOOKUP", operands, result, hits)
    return result


@step(weight=3, int16=True, ranks=(4,))
def numbers(graph: Graph, value: Value) -> Value:
    """Compute with what a value is cast to; nothing grows from it."""
    dtype, shape = str(graph.choice("int32", "bool", "int64")), value.shape
    first = graph.tensor(shape, dtype, None)
    graph.operator("CAST", [value.index], first)
    every = ["PAD", *(["PADV2", "RESIZE_NEAREST_NEIGHBOR"] if dtype != "int64" else [])]
    every += ["MEAN"] if dtype != "bool" else ["REDUCE_ANY", "REDUCE_ALL"]
    every += ["BUCKETIZE"] if dtype != "bool" else []
    every += ["SIGN", "SQUARED_DIFFERENCE", "ADD_N", "DIV"] if dtype == "int32" else []
    code, operands = str(graph.choice(*every)), [first.index]
    options: dict[str, Any] = {}
    if code in ("PAD", "PADV2"):
        operands.append(graph.constant([[0, 0], [1, 0], [0, 2], [0, 0]]))
        operands += [graph.constant(np.array(1).astype(dtype))] if code == "PADV2" else []
        shape = (shape[0], shape[1] + 1, shape[2] + 2, shape[3])
    elif code == "RESIZE_NEAREST_NEIGHBOR":
        operands.append(graph.constant([2 * size - 1 for size in shape[1:3]]))
        shape = (shape[0], 2 * shape[1] - 1, 2 * shape[2] - 1, shape[3])
    elif code in ("MEAN", "REDUCE_ANY", "REDUCE_ALL"):
        operands.append(graph.constant([1, 3]))
        shape, options = (shape[0], 1, shape[2], 1), {"keep_dims": True}
    elif code == "BUCKETIZE":
        options = {"boundaries": np.sort(graph.rng.normal(0, 50, 5)).astype(np.float32)}
    elif code != "SIGN":
        operands.append(graph.aside(graph.rng.choice([-7, -1, 1, 3], shape).astype(dtype)))
    version = {"version": 2} if code == "SIGN" else {}
    result = graph.tensor(shape, "int32" if code == "BUCKETIZE" else dtype, None)
    graph.operator(code, operands, result, **options, **version)
    return value


@step()
def dense(graph: Graph, value: Value) -> Value | None:
    """Put all elements of a small tensor into one row."""
    count = prod(value.shape)
    if count > 300:
        return None
    flat = graph.result(value, (count,))
    graph.operator("RESHAPE", [value.index, graph.constant([count])], flat)
    filler = graph.aside(np.asarray(graph.data(value.dtype, ())), value.encoding)
    places = graph.rng.permutation(count + 7)[:count].astype(np.int32)
    result = graph.result(value, (count + 7,))
    operands = [graph.aside(places), graph.constant([count + 7]), flat.index, filler]
    graph.operator("SPARSE_TO_DENSE", operands, result)
    return result


@step(weight=2, int16=True, ranks=range(4))
def spread(graph: Graph, value: Value) -> Value | None:
    """Put fillers between elements, or elements on diagonals."""
    if prod(value.shape) > 600:
        return None
    code = str(graph.choice("DILATE", "MATRIX_DIAG", "MATRIX_SET_DIAG"))
    if code == "DILATE":
        steps = [int(graph.choice(1, 2, 3)) for _ in value.shape]
        sizes = [(size - 1) * each + 1 for size, each in zip(value.shape, steps, strict=True)]
        result = graph.result(value, sizes)
        operands = [value.index, graph.constant(steps), graph.filling(value)]
        graph.operator(code, operands, result)
        return result
    if code == "MATRIX_DIAG":
        result = graph.result(value, (*value.shape, value.shape[-1]))
        graph.operator(code, [value.index], result)
        return result
    if len(value.shape) < 2:
        return None
    shape = (*value.shape[:-2], min(value.shape[-2:]))
    diagonal = graph.input(shape, value.dtype, value.encoding)
    result = graph.result(value, value.shape)
    graph.operator(code, [value.index, diagonal.index], result)
    return result


@step(weight=2, int16=True)
def turn_back(graph: Graph, value: Value) -> Value | None:
    if value.dtype == "int8" or len(value.shape) < 2:
        return None
    along, batch = (int(axis) for axis in graph.rng.permutation(len(value.shape))[:2])
    lengths = graph.rng.integers(0, value.shape[along] + 1, value.shape[batch]).astype(np.int32)
    result = graph.result(value, value.shape)
    operands = [value.index, graph.aside(lengths)]
    graph.operator("REVERSE_SEQUENCE", operands, result, seq_dim=along, batch_dim=batch)
    return result


@step(weight=2, int16=True, ranks=range(5))
def bits(graph: Graph, value: Value) -> Value:
    """Combine integers, whatever they mean."""
    names = ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")
    codes: tuple[str, ...] = tuple(f"STABLEHLO_{name}" for name in names)
    if value.dtype not in ("int64", "bool", "float32"):
        codes += ("BITWISE_XOR", "RIGHT_SHIFT")
    other = graph.input(value.shape, value.dtype, value.encoding)
    result = graph.result(value, value.shape)
    graph.operator(str(graph.choice(*codes)), [value.index, other.index], result)
    return result


@step(weight=2, ranks=range(5))
def normalize(graph: Graph, value: Value) -> Value | None:
    if value.shape[-1] > 1000 or value.scale < 2.0**-20:
        return None
    code = str(graph.choice("L2_NORMALIZATION", "LOG_SOFTMAX"))
    middle = 128 if value.dtype == "uint8" else 0
    scale, point = (1 / 128, 0) if code == "L2_NORMALIZATION" else (16 / 256, 127)
    result = graph.tensor(value.shape, value.dtype, Quantization.per_tensor(scale, middle + point))
    graph.operator(code, [value.index], result)
    return result


@step(weight=2, int16=True, dtypes=("int8", "int16"))
def multiply_along(graph: Graph, value: Value) -> Value | None:
    axis = int(graph.rng.integers(len(value.shape)))
    shape = [size for number, size in enumerate(value.shape) if number != axis]
    count = value.shape[axis]
    if count > 12 or not shape:
        return None
    # So that a product of numbers of a usual size has a usual size.
    usual = 40 * value.scale * (256 if value.dtype == "int16" else 1)
    wanted = min(max(usual**count / 60, 1e-5), 1e3)
    result = graph.result(value, shape, wanted)
    root = result.scale ** (1.0 / count)
    if not 2.0**-28 < value.scale / root < 2.0**6:  # LiteRT defines no other shifts
        return None
    operands = [value.index, graph.constant([axis])]
    graph.operator("REDUCE_PROD", operands, result, keep_dims=False)
    return result


@step(weight=2, ranks=range(5))
def segments(graph: Graph, value: Value) -> Value:
    """Ends in numbers, from which nothing grows."""
    dtype = "float32" if graph.chance(0.5) else "int32"
    numbers = graph.tensor(value.shape, dtype, None)
    graph.operator("CAST", [value.index], numbers)
    names = ("SUM", "MAX", "MIN", "PROD")
    count = int(graph.rng.integers(1, 6))
    places = graph.constant(graph.rng.integers(-1, count, value.shape[0]).astype(np.int32))
    result = graph.tensor((count, *value.shape[1:]), dtype, None)
    operands = [numbers.index, places, graph.constant(np.int32(count))]
    graph.operator(f"UNSORTED_SEGMENT_{graph.choice(*names)}", operands, result)
    return value
