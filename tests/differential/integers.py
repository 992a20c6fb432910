"""Steps on integers that mean themselves: of 32 and 64 bits, and bytes without a scale."""

from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential.graphs import Graph, Value, step
from tests.support.tflite import ANY

_PAIRS = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")
_ACTIVATIONS = ("RELU", "RELU6", "RELU_N1_TO_1", "TANH")
_REDUCTIONS = ("SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")


@step(weight=2, int16=True, ranks=range(5))
def whole(graph: Graph, value: Value) -> Value:
    """Compute with what a value is cast to; nothing grows from it."""
    dtype = str(graph.choice("int32", "int64"))
    first = graph.tensor(value.shape, dtype, None)
    graph.operator("CAST", [value.index], first)
    numbers = graph.rng.integers(-(2**30), 2**30, value.shape[-1:]).astype(dtype)
    pair, alone = (graph.tensor(value.shape, dtype, None) for _ in range(2))
    joined = graph.tensor(ANY, dtype, None)
    code, options = str(graph.choice(*_PAIRS)), dict[str, Any]()
    if code in ("ADD", "SUB", "MUL"):
        options["fused_activation_function"] = str(graph.choice("NONE", "NONE", *_ACTIVATIONS))
    graph.operator(code, [first.index, graph.aside(numbers)], pair, **options)
    # LiteRT has no ABS of int64.
    code = str(graph.choice("NEG", "ABS")) if dtype == "int32" else "NEG"
    graph.operator(code, [pair.index], alone)
    if graph.chance(0.5):
        graph.operator("CONCATENATION", [alone.index, pair.index], joined, axis=0)
        return value
    axis = int(graph.rng.integers(len(value.shape)))
    keep = len(value.shape) == 1 or graph.chance(0.5)
    operands = [alone.index, graph.constant([axis])]
    graph.operator(str(graph.choice(*_REDUCTIONS)), operands, joined, keep_dims=keep)
    return value


@step(int16=True, ranks=range(5))
def raise_to(graph: Graph, value: Value) -> Value:
    """Raise what a value is cast to to powers: one for all, which wrap, or one for each."""
    base, power = (graph.tensor(value.shape, "int32", None) for _ in range(2))
    graph.operator("CAST", [value.index], base)
    most = int(graph.choice(4, 9, 40, 2**31 - 1))
    shape = () if graph.chance(0.5) else value.shape
    exponents = graph.rng.integers(0, most, shape).astype(np.int32)
    operand = graph.constant(exponents) if graph.chance(0.5) else graph.aside(exponents)
    graph.operator("POW", [base.index, operand], power)
    return value


@step(int16=True)
def read_as(graph: Graph, value: Value) -> Value:
    """Read a value as numbers of another type; nothing grows from them."""
    dtype = str(graph.choice("int8", "uint8", "int16", "int32", "int64", "float32"))
    old, new = np.dtype(value.dtype).itemsize, np.dtype(dtype).itemsize
    shape = [*value.shape, old // new] if new < old else [*value.shape]
    operand = value.index
    if new > old:
        operand = graph.aside(graph.data(value.dtype, (*shape, new // old)))
    graph.operator("BITCAST", [operand], graph.tensor(shape, dtype, None))
    return value


@step(int16=True)
def project(graph: Graph, value: Value) -> Value | None:
    """Hash rows of at most 60 bytes; nothing grows from the signs of their sums."""
    if prod(value.shape[1:]) * np.dtype(value.dtype).itemsize > 60 or value.shape[0] == 0:
        return None
    count, bits = (int(each) for each in graph.rng.integers(1, 7, 2))
    functions = graph.constant(graph.rng.normal(0, 1, (count, bits)).astype(np.float32))
    operands, kind = [functions, value.index], str(graph.choice("SPARSE", "DENSE"))
    if graph.chance(0.5):
        operands.append(graph.aside(graph.rng.normal(0, 1, value.shape[0]).astype(np.float32)))
    signs = graph.tensor([count * (bits if kind == "DENSE" else 1)], "int32", None)
    graph.operator("LSH_PROJECTION", operands, signs, type=kind)
    return value


@step(weight=3, int16=True, ranks=(4,))
def plain(graph: Graph, value: Value) -> Value:
    """Move, compare or pool integers of which the file states no scale; nothing grows from them."""
    shape, dtype = value.shape, value.dtype
    operands = [graph.aside(graph.data(dtype, shape))]
    code, options = str(graph.choice(*_PLAIN, *_UNSCALED[dtype])), dict[str, Any]()
    if code in ("ADD", "BATCH_MATMUL", "CONCATENATION", "MAXIMUM", "MINIMUM", "MUL", "PRELU"):
        operands.append(graph.aside(graph.data(dtype, shape)))
    if code == "CONCATENATION":
        if dtype == "uint8" and graph.chance(0.5):
            operands.append(value.index)  # with a scale
        options = {"axis": 3}
    elif code in ("PAD", "PADV2"):
        operands.append(graph.constant([[0, 0], [1, 0], [0, 2], [0, 0]]))
        operands += [graph.constant(np.array(9, dtype))] if code == "PADV2" else []
    elif code in _REDUCING:
        operands.append(graph.constant([1, 2]))
        options = {"keep_dims": True}
    elif code.startswith("RESIZE"):
        operands.append(graph.constant([2 * size - 1 for size in shape[1:3]]))
    elif code.endswith("POOL_2D"):
        options = {"padding": "SAME", **dict.fromkeys(_WINDOW, 2)}
    elif code == "BATCH_MATMUL":
        options = {"adj_y": True}
    elif code == "LEAKY_RELU":
        options = {"alpha": 0.25}
    result = graph.tensor(ANY, dtype, _plain_encoding(code, dtype))
    graph.operator(code, operands, result, **options)
    return value


def _plain_encoding(code: str, dtype: str) -> Quantization | None:
    if code not in _FUNCTIONS:
        return None
    if dtype == "int16":
        return Quantization.per_tensor(2.0**-15, 0)
    middle = 0 if dtype == "int8" else 128
    if code == "LOGISTIC":
        return Quantization.per_tensor(1 / 256, middle - 128)
    return Quantization.per_tensor(1 / 128, middle)


_WINDOW = ("stride_h", "stride_w", "filter_height", "filter_width")
_PLAIN = (
    *("MAXIMUM", "MINIMUM", "CONCATENATION", "PAD", "PADV2", "REDUCE_MAX", "REDUCE_MIN"),
    *("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "AVERAGE_POOL_2D", "MAX_POOL_2D"),
)
_RESCALED = ("BATCH_MATMUL", "LEAKY_RELU", "MEAN", "MUL", "REDUCE_PROD", "RELU", "RELU6")
_OF_BYTES = (
    *("HARD_SWISH", "RELU_0_TO_1", "RELU_N1_TO_1", "PRELU", "TANH", "LOGISTIC"),
    "L2_NORMALIZATION",
)
_UNSCALED = {
    "int8": ("NEG", "GELU", "EXP", *_RESCALED, *_OF_BYTES),
    # For which LiteRT's reference kernel takes int8, too, in SUM.
    "uint8": ("SUM", "GELU", *_OF_BYTES, *(code for code in _RESCALED if code != "BATCH_MATMUL")),
    "int16": ("ADD", "GELU", "EXP", *_RESCALED),
}
_REDUCING = ("MEAN", *_REDUCTIONS)
# Functions of 0, whose results have a scale.
_FUNCTIONS = ("EXP", "GELU", "L2_NORMALIZATION", "LOGISTIC", "TANH")
