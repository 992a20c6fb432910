"""Steps that compute each element by itself, and those that reduce axes."""

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential.graphs import ACTIVATIONS, Graph, Value, step


@step(weight=3, int16=True, ranks=range(5))
def pair(graph: Graph, value: Value) -> Value:
    code = str(graph.choice("ADD", "SUB", "MUL"))
    shape = value.shape
    if graph.chance(0.3):
        shape = tuple(1 if graph.chance(0.5) else size for size in value.shape)
    kind = graph.choice("another", "input", "constant")
    if kind == "another":  # of those of its shape, it may be itself
        fitting = [
            known
            for known in graph.values
            if (known.shape, known.dtype) == (value.shape, value.dtype)
        ]
        another = graph.choice(*fitting)
        other, scale = another.index, another.scale
    elif kind == "input":
        another = graph.input(shape, value.dtype)
        other, scale = another.index, another.scale
    else:
        quantization = graph.encoding(value.dtype)
        data = graph.data(value.dtype, shape)
        other, scale = graph.constant(data, quantization), float(quantization.scale[0])
    wanted = _span(value.dtype) * value.scale * scale if code == "MUL" else value.scale + scale
    result = graph.result(value, value.shape, wanted)
    operands = [value.index, other] if graph.chance(0.5) else [other, value.index]
    activation = str(graph.choice(*ACTIVATIONS))
    # LiteRT takes few powers of two as shifts.
    general = {} if code == "MUL" else {"pot_scale_int16": False}
    graph.operator(code, operands, result, fused_activation_function=activation, **general)
    return result


def _span(dtype: str) -> float:
    """Return a large number of steps of a dtype."""
    return 15_000 if dtype == "int16" else 60


@step(int16=True)
def softmax(graph: Graph, value: Value) -> Value | None:
    if (
        value.shape[-1] >= 500 or len(value.shape) > 4
    ):  # LiteRT's reference kernel aborts the process
        return None
    if value.dtype == "int16" and value.scale > 2:  # LiteRT's int32 does not hold its distances
        return None
    zero_point = -128 if value.dtype == "int8" else 0
    scale = 2.0**-15 if value.dtype == "int16" else 1 / 256
    encoding = Quantization.per_tensor(scale, zero_point)
    result = graph.tensor(value.shape, value.dtype, encoding)
    graph.operator("SOFTMAX", [value.index], result, beta=float(graph.choice(1.0, 0.5)))
    return result


_UNARY = (
    *("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU"),
    *("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "GELU"),
)
_UNARY_INT8 = ("EXP", "ABS", "LOG", "NEG")
_UNARY_INT16 = ("LOGISTIC", "TANH", "LEAKY_RELU", "RELU", "RELU6", "GELU", *_UNARY_INT8)


@step(weight=2, int16=True)
def unary(graph: Graph, value: Value) -> Value:
    codes = {"int8": (*_UNARY, *_UNARY_INT8), "uint8": _UNARY, "int16": _UNARY_INT16}
    code = str(graph.choice(*codes[value.dtype]))
    if code in ("LOGISTIC", "TANH") and value.dtype == "int16":
        result = graph.tensor(value.shape, "int16", Quantization.per_tensor(2.0**-15, 0))
    elif code in ("LOGISTIC", "TANH"):
        scale, at = (1 / 256, -128) if code == "LOGISTIC" else (1 / 128, 0)
        point = at + (128 if value.dtype == "uint8" else 0)
        result = graph.tensor(value.shape, value.dtype, Quantization.per_tensor(scale, point))
    elif code == "HARD_SWISH":  # LiteRT takes no result of far smaller steps
        encoding = graph.encoding(value.dtype, value.scale)
        result = graph.tensor(value.shape, value.dtype, encoding)
    else:
        result = graph.result(value, value.shape, value.scale)
    options = {"alpha": float(graph.rng.uniform(0.01, 0.5))} if code == "LEAKY_RELU" else {}
    graph.operator(code, [value.index], result, **options)
    return result


@step(int16=True, dtypes=("int8", "int16"))
def root(graph: Graph, value: Value) -> Value:
    """Take the root, or its inverse, of nonnegative values: LiteRT ends a run for others."""
    is_wide = value.dtype == "int16"
    encoding = Quantization.per_tensor(value.scale, 0 if is_wide else -128)
    positive = graph.tensor(value.shape, value.dtype, encoding)
    graph.operator("RELU" if is_wide else "QUANTIZE", [value.index], positive)
    code = str(graph.choice("SQRT", "RSQRT"))
    most = 32767 if is_wide else 255
    span = float(np.sqrt(most * value.scale)) if code == "SQRT" else float(value.scale**-0.5)
    result = graph.result(value, value.shape, span / (most - 55))
    graph.operator(code, [positive.index], result)
    return result


@step(weight=2, ranks=range(5))
def slopes(graph: Graph, value: Value) -> Value:
    shape = value.shape[int(graph.choice(0, 1, len(value.shape) - 1)) :]
    shape = tuple(1 if graph.chance(0.3) else size for size in shape)
    encoding = graph.encoding(value.dtype, 0.005)
    data = graph.data(value.dtype, shape)
    is_constant = graph.chance(0.7)
    index = graph.constant(data, encoding) if is_constant else graph.aside(data, encoding)
    result = graph.result(value, value.shape, value.scale)
    graph.operator("PRELU", [value.index, index], result)
    return result


@step(int16=True, ranks=range(5))
def divide(graph: Graph, value: Value) -> Value:
    """Divide by values that are never 0, for which LiteRT ends a run."""
    low = 0 if value.dtype == "int16" else int(np.iinfo(value.dtype).min)
    shape = tuple(1 if graph.chance(0.3) else size for size in value.shape)
    data = graph.data(value.dtype, shape)
    data[data == low] += 1
    encoding = Quantization.per_tensor(float(graph.rng.uniform(0.01, 0.1)), low)
    other = graph.aside(data, encoding)
    wanted = value.scale / float(encoding.scale[0]) / float(graph.choice(1, 10, 60))
    result = graph.result(value, value.shape, wanted)
    activation = str(graph.choice(*ACTIVATIONS))
    graph.operator("DIV", [value.index, other], result, fused_activation_function=activation)
    return result


@step(int16=True, ranks=range(5))
def divide_integers(graph: Graph, value: Value) -> Value:
    """Divide numbers, from which nothing grows, and integers of any meaning."""
    code = str(graph.choice("FLOOR_DIV", "FLOOR_MOD"))
    numbers = graph.rng.choice([-7, -3, -1, 1, 2, 5], value.shape[-1:])
    if value.dtype != "uint8":
        divisors = graph.aside(numbers.astype(value.dtype), value.quantization)
        result = graph.result(value, value.shape)
        graph.operator(code, [value.index, divisors], result, version=2)
        return result
    wide, rest = (graph.tensor(value.shape, "int32", None) for _ in range(2))
    graph.operator("CAST", [value.index], wide)
    graph.operator(code, [wide.index, graph.aside(numbers.astype(np.int32))], rest)
    zeros = graph.tensor(value.shape, "int32", None)
    graph.operator("ZEROS_LIKE", [wide.index], zeros)
    return value


@step(dtypes=("int8",), ranks=range(5))
def squared_difference(graph: Graph, value: Value) -> Value | None:
    shape = tuple(1 if graph.chance(0.3) else size for size in value.shape)
    other = graph.input(shape, "int8")
    wanted = 100 * max(value.scale, other.scale) ** 2
    result = graph.result(value, value.shape, wanted)
    if 4 * max(value.scale, other.scale) ** 2 >= 2**14 * result.scale:  # LiteRT ends the process
        return None
    graph.operator("SQUARED_DIFFERENCE", [value.index, other.index], result)
    return result


@step(int16=True)
def change_encoding(graph: Graph, value: Value) -> Value:
    dtype = str(graph.choice("int8", "int16" if value.dtype == "int16" else "uint8", "int16"))
    scale = value.scale * _span(value.dtype) / _span(dtype) * float(graph.rng.uniform(0.3, 3))
    result = graph.tensor(value.shape, dtype, graph.encoding(dtype, scale))
    graph.operator("QUANTIZE", [value.index], result)
    return result


@step(int16=True)
def to_reals(graph: Graph, value: Value) -> Value:
    result = graph.tensor(value.shape, "float32", None)
    graph.operator("DEQUANTIZE", [value.index], result)
    return value


@step(int16=True, ranks=range(5))
def from_reals(graph: Graph, value: Value) -> Value:
    """Quantize the other operand of a sum in the model."""
    reals = graph.reals(value.shape, value.scale)
    other = graph.result(value, value.shape, value.scale)
    graph.operator("QUANTIZE", [reals.index], other)
    result = graph.result(value, value.shape, 2 * value.scale)
    graph.operator("ADD", [value.index, other.index], result, pot_scale_int16=False)
    return result


@step(int16=True, ranks=(4,))
def mean(graph: Graph, value: Value) -> Value:
    axes = [int(axis) for axis in graph.choice((1, 2), (1, 2), (3,), (1,))]
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(value.shape))
    keep = bool(graph.chance(0.7))
    if not keep:
        shape = tuple(size for axis, size in enumerate(value.shape) if axis not in axes)
    # Of int8, LiteRT's reference kernel takes the bytes of a sum for uint8.
    code = "SUM" if value.dtype == "uint8" and graph.chance(0.3) else "MEAN"
    wanted = value.scale * (4 if code == "SUM" else 1)
    result = graph.result(value, shape, wanted if graph.chance(0.8) else None)
    graph.operator(code, [value.index, graph.constant(axes)], result, version=2, keep_dims=keep)
    return result
