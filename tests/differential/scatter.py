"""Steps that put elements at indices, normalize rows, and work on bits."""

from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential.graphs import Graph, Value, step
from tests.support.tflite import ANY


@step(weight=3, int16=True, ranks=(4,))
def numbers(graph: Graph, value: Value) -> Value:
    """Compute with what a value is cast to; nothing grows from it."""
    dtype = str(graph.choice("int32", "bool", "int64"))
    first = graph.tensor(value.shape, dtype, None)
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
    elif code == "RESIZE_NEAREST_NEIGHBOR":
        operands.append(graph.constant([2 * size - 1 for size in value.shape[1:3]]))
    elif code in ("MEAN", "REDUCE_ANY", "REDUCE_ALL"):
        operands.append(graph.constant([1, 3]))
        options = {"keep_dims": True}
    elif code == "BUCKETIZE":
        options = {"boundaries": np.sort(graph.rng.normal(0, 50, 5)).astype(np.float32)}
    elif code != "SIGN":
        operands.append(graph.aside(graph.rng.choice([-7, -1, 1, 3], value.shape).astype(dtype)))
    version = {"version": 2} if code == "SIGN" else {}
    result = graph.tensor(ANY, "int32" if code == "BUCKETIZE" else dtype, None)
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
