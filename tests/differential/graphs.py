"""Random small quantized graphs, as a TFLite file holds them.

A graph begins with one tensor of random shape, dtype and encoding and grows by a few random
operators, each on what is there, with random attributes that LiteRT takes. Scales are such that
results use their range, now and then so that they saturate; weights and data use all of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range
from tests.support.tflite import random_quantization

Array = np.ndarray[Any, Any]
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclass(frozen=True)
class Value:
    """A tensor of a graph under way."""

    index: int
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization

    @property
    def scale(self) -> float:
        return float(self.quantization.scale[0])


class Graph:
    """A file under way; several graphs, which do not touch, may stand in one."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.inputs: list[int] = []
        self.arrays: list[Array] = []
        self.outputs: list[int] = []
        self.codes: list[str] = []
        self.writer = ModelWriter()
        self._count = 0

    def tensor(
        self, shape: Sequence[int], dtype: str, quantization: Quantization, data: Any = None
    ) -> Value:
        self._count += 1
        name, shape = f"t{self._count}", tuple(int(size) for size in shape)
        index = self.writer.tensor(name, shape, dtype, quantization, data)
        return Value(index, shape, dtype, quantization)

    def input(self, shape: Sequence[int], dtype: str) -> Value:
        value = self.tensor(shape, dtype, random_quantization(self.rng, dtype))
        self.inputs.append(value.index)
        self.arrays.append(full_range(self.rng, dtype, value.shape))
        return value

    def constant(self, data: Any, quantization: Quantization | None = None) -> int:
        array = np.asarray(data)
        array = array.astype(np.int32) if array.dtype == np.int64 else array
        self._count += 1
        return self.writer.tensor(
            f"c{self._count}", array.shape, array.dtype.name, quantization, array
        )

    def operator(self, code: str, operands: Sequence[int], *results: Value, **options: Any) -> None:
        self.codes.append(code)
        self.writer.operator(code, list(operands), [value.index for value in results], **options)

    def result(self, like: Value, shape: Sequence[int], scale: float | None = None) -> Value:
        """A tensor of ``like``'s dtype, in its encoding or in a random one of about a scale."""
        if scale is None:
            return self.tensor(shape, like.dtype, like.quantization)
        # One in eight has far too small a scale, so that it saturates.
        scale *= 0.05 if self.rng.random() < 1 / 8 else 1
        return self.tensor(shape, like.dtype, random_quantization(self.rng, like.dtype, scale))

    def choice(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)


Step = Callable[[Graph, Value], "Value | None"]
STEPS: list[Step] = []


def step(weight: int = 1) -> Callable[[Step], Step]:
    """Register one way to grow a graph; it returns None where its operator does not fit."""

    def decorate(function: Step) -> Step:
        STEPS.extend([function] * weight)
        return function

    return decorate


def grow(graph: Graph) -> None:
    """Add one graph of one to six operators to a file."""
    rng = graph.rng
    if graph.chance(0.8):
        height, width = (int(size) for size in rng.integers(1, 14, 2))
        channels = int(graph.choice(*range(1, 9), 16, 17, 31, 32, 33, 40, 64, 70))
        shape: tuple[int, ...] = (int(rng.integers(1, 3)), height, width, channels)
    else:
        shape = (int(rng.integers(1, 5)), int(rng.integers(1, 130)))
    value = graph.input(shape, str(graph.choice("int8", "uint8")))
    length, tries = int(rng.integers(1, 7)), 0
    before = len(graph.codes)
    while len(graph.codes) - before < length and tries < 40:
        tries += 1
        grown = STEPS[int(rng.integers(len(STEPS)))](graph, value)
        value = grown or value
    graph.outputs.append(value.index)


def _window(graph: Graph, value: Value, most: int, dilated: bool) -> dict[str, Any] | None:
    """A window that fits, and the positions it takes: options of the operators that have one."""
    rng = graph.rng
    taps = [int(size) for size in rng.integers(1, most + 1, 2)]
    strides = [int(size) for size in graph.choice((1, 1), (1, 1), (2, 2), (1, 2), (3, 2))]
    gaps = [1, 1]
    if dilated and strides == [1, 1] and graph.chance(0.25):
        gaps = [int(size) for size in rng.integers(1, 4, 2)]
    padding = str(graph.choice("SAME", "VALID"))
    reach = [(tap - 1) * gap + 1 for tap, gap in zip(taps, gaps, strict=True)]
    sizes = value.shape[1:3]
    if padding == "VALID" and any(r > size for r, size in zip(reach, sizes, strict=True)):
        return None
    spans = [
        -(-size // stride) if padding == "SAME" else (size - r) // stride + 1
        for size, stride, r in zip(sizes, strides, reach, strict=True)
    ]
    return {"taps": taps, "strides": strides, "gaps": gaps, "padding": padding, "spans": spans}


def _weights(graph: Graph, shape: Sequence[int], dtype: str, axis: int) -> tuple[Array, Any]:
    rng = graph.rng
    data = full_range(rng, dtype, tuple(shape))
    if dtype == "uint8":
        return data, random_quantization(rng, dtype, 0.01)
    count = shape[axis] if graph.chance(0.7) else 1
    scales = rng.uniform(0.002, 0.03, count).astype(np.float32)
    return np.maximum(data, -127), Quantization(scales, np.zeros(count, np.int64), axis)


def _bias(graph: Graph, value: Value, weights: Quantization, channels: int) -> int:
    scales = value.quantization.scale * weights.scale
    data = graph.rng.integers(-30_000, 30_000, channels).astype(np.int32)
    return graph.constant(data, Quantization(scales, np.zeros(scales.size, np.int64)))


@step(weight=4)
def convolution(graph: Graph, value: Value) -> Value | None:
    window = _window(graph, value, 5, True) if len(value.shape) == 4 else None
    if window is None:
        return None
    channels = int(graph.choice(1, 2, 5, 8, 15, 16, 17, 24, 32, 33, 48, 65))
    depth = value.shape[3]
    data, quantization = _weights(graph, (channels, *window["taps"], depth), value.dtype, 0)
    spread = 70 * 70 * value.scale * float(np.mean(quantization.scale))
    taps = prod(window["taps"]) * depth
    shape = (value.shape[0], *window["spans"], channels)
    result = graph.result(value, shape, spread * float(np.sqrt(taps)) / 40)
    operands = [value.index, graph.constant(data, quantization)]
    operands.append(_bias(graph, value, quantization, channels))
    graph.operator("CONV_2D", operands, result, **_convolved(graph, window))
    return result


@step(weight=3)
def depthwise(graph: Graph, value: Value) -> Value | None:
    window = _window(graph, value, 5, True) if len(value.shape) == 4 else None
    if window is None:
        return None
    multiplier = int(graph.choice(1, 1, 1, 2, 3))
    channels = value.shape[3] * multiplier
    data, quantization = _weights(graph, (1, *window["taps"], channels), value.dtype, 3)
    spread = 70 * 70 * value.scale * float(np.mean(quantization.scale))
    shape = (value.shape[0], *window["spans"], channels)
    result = graph.result(value, shape, spread * float(np.sqrt(prod(window["taps"]))) / 40)
    operands = [value.index, graph.constant(data, quantization)]
    if graph.chance(0.8):
        operands.append(_bias(graph, value, quantization, channels))
    options = {**_convolved(graph, window), "depth_multiplier": multiplier}
    graph.operator("DEPTHWISE_CONV_2D", operands, result, **options)
    return result


def _convolved(graph: Graph, window: dict[str, Any]) -> dict[str, Any]:
    return {
        "padding": window["padding"],
        "stride_h": window["strides"][0],
        "stride_w": window["strides"][1],
        "dilation_h_factor": window["gaps"][0],
        "dilation_w_factor": window["gaps"][1],
        "fused_activation_function": str(graph.choice(*ACTIVATIONS)),
    }


@step(weight=2)
def dense(graph: Graph, value: Value) -> Value | None:
    depth = prod(value.shape[1:])
    if depth > 4000:
        return None
    units = int(graph.choice(1, 3, 8, 10, 16, 17, 33, 64))
    data, quantization = _weights(graph, (units, depth), value.dtype, 0)
    spread = 70 * 70 * value.scale * float(np.mean(quantization.scale))
    result = graph.result(value, (value.shape[0], units), spread * float(np.sqrt(depth)) / 40)
    operands = [value.index, graph.constant(data, quantization)]
    if graph.chance(0.8):
        operands.append(_bias(graph, value, quantization, units))
    activation = str(graph.choice(*ACTIVATIONS))
    graph.operator("FULLY_CONNECTED", operands, result, fused_activation_function=activation)
    return result


@step(weight=2)
def pool(graph: Graph, value: Value) -> Value | None:
    window = _window(graph, value, 4, False) if len(value.shape) == 4 else None
    if window is None:
        return None
    shape = (value.shape[0], *window["spans"], value.shape[3])
    result = graph.result(value, shape)
    graph.operator(
        str(graph.choice("MAX_POOL_2D", "AVERAGE_POOL_2D")),
        [value.index],
        result,
        padding=window["padding"],
        stride_h=window["strides"][0],
        stride_w=window["strides"][1],
        filter_height=window["taps"][0],
        filter_width=window["taps"][1],
        fused_activation_function=str(graph.choice(*ACTIVATIONS)),
    )
    return result


@step(weight=3)
def pair(graph: Graph, value: Value) -> Value:
    code = str(graph.choice("ADD", "SUB", "MUL"))
    shape = value.shape
    if graph.chance(0.3):
        shape = tuple(1 if graph.chance(0.5) else size for size in value.shape)
    kind = graph.choice("itself", "input", "constant")
    if kind == "itself":
        other, scale = value.index, value.scale
    elif kind == "input":
        another = graph.input(shape, value.dtype)
        other, scale = another.index, another.scale
    else:
        quantization = random_quantization(graph.rng, value.dtype)
        data = full_range(graph.rng, value.dtype, shape)
        other, scale = graph.constant(data, quantization), float(quantization.scale[0])
    wanted = 60 * value.scale * scale if code == "MUL" else value.scale + scale
    result = graph.result(value, value.shape, wanted)
    operands = [value.index, other] if graph.chance(0.5) else [other, value.index]
    activation = str(graph.choice(*ACTIVATIONS))
    graph.operator(code, operands, result, fused_activation_function=activation)
    return result


@step()
def concatenate(graph: Graph, value: Value) -> Value:
    axis = int(graph.rng.integers(len(value.shape)))
    others = [value]
    for _ in range(int(graph.rng.integers(1, 3))):
        shape = list(value.shape)
        shape[axis] = int(graph.rng.integers(1, 20))
        if value.dtype == "int8":
            # TFLite joins int8 tensors of one encoding only.
            other = graph.tensor(shape, value.dtype, value.quantization)
            graph.inputs.append(other.index)
            graph.arrays.append(full_range(graph.rng, value.dtype, other.shape))
        else:
            other = graph.input(shape, value.dtype)
        others.append(other)
    shape = list(value.shape)
    shape[axis] = sum(other.shape[axis] for other in others)
    result = graph.result(value, shape, None if value.dtype == "int8" else value.scale)
    graph.operator("CONCATENATION", [other.index for other in others], result, axis=axis)
    return result


@step()
def mean(graph: Graph, value: Value) -> Value | None:
    if len(value.shape) != 4:
        return None
    axes = [int(axis) for axis in graph.choice((1, 2), (1, 2), (3,), (1,))]
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(value.shape))
    result = graph.result(value, shape, value.scale)
    graph.operator("MEAN", [value.index, graph.constant(axes)], result, keep_dims=True)
    return result


@step()
def softmax(graph: Graph, value: Value) -> Value | None:
    if value.shape[-1] >= 500:  # LiteRT's reference kernel aborts the process
        return None
    zero_point = -128 if value.dtype == "int8" else 0
    encoding = Quantization.per_tensor(1 / 256, zero_point)
    result = graph.tensor(value.shape, value.dtype, encoding)
    graph.operator("SOFTMAX", [value.index], result, beta=float(graph.choice(1.0, 0.5)))
    return result


@step(weight=2)
def unary(graph: Graph, value: Value) -> Value:
    code = str(graph.choice("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "RELU", "RELU6"))
    if code in ("LOGISTIC", "TANH"):
        scale, at = (1 / 256, -128) if code == "LOGISTIC" else (1 / 128, 0)
        point = at + (128 if value.dtype == "uint8" else 0)
        result = graph.tensor(value.shape, value.dtype, Quantization.per_tensor(scale, point))
    else:
        result = graph.result(value, value.shape, value.scale)
    options = {"alpha": float(graph.rng.uniform(0.01, 0.5))} if code == "LEAKY_RELU" else {}
    graph.operator(code, [value.index], result, **options)
    return result


@step()
def change_encoding(graph: Graph, value: Value) -> Value:
    dtype = str(graph.choice("int8", "uint8"))
    scale = value.scale * float(graph.rng.uniform(0.3, 3))
    result = graph.tensor(value.shape, dtype, random_quantization(graph.rng, dtype, scale))
    graph.operator("QUANTIZE", [value.index], result)
    return result


@step()
def pad(graph: Graph, value: Value) -> Value | None:
    if len(value.shape) != 4:
        return None
    widths = np.zeros((4, 2), np.int32)
    widths[1:3] = graph.rng.integers(0, 3, (2, 2))
    shape = tuple(size + int(sum(width)) for size, width in zip(value.shape, widths, strict=True))
    result = graph.result(value, shape)
    graph.operator("PAD", [value.index, graph.constant(widths)], result)
    return result


@step()
def resize(graph: Graph, value: Value) -> Value | None:
    if len(value.shape) != 4 or max(value.shape[1:3]) > 20:
        return None
    code = str(graph.choice("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"))
    # Twice as large at most: LiteRT's bilinear kernel reads past the image where it grows more.
    sizes = [int(graph.rng.integers(1, 2 * size + 1)) for size in value.shape[1:3]]
    result = graph.result(value, (value.shape[0], *sizes, value.shape[3]))
    centers = bool(graph.chance(0.5))
    options = {"align_corners": not centers and graph.chance(0.5), "half_pixel_centers": centers}
    graph.operator(code, [value.index, graph.constant(sizes)], result, **options)
    return result


@step()
def move(graph: Graph, value: Value) -> Value | None:
    if graph.chance(0.5):
        shape = (value.shape[0], prod(value.shape[1:]))
        result = graph.result(value, shape)
        graph.operator("RESHAPE", [value.index, graph.constant(shape)], result)
        return result
    axes = [int(axis) for axis in graph.rng.permutation(len(value.shape))]
    result = graph.result(value, [value.shape[axis] for axis in axes])
    graph.operator("TRANSPOSE", [value.index, graph.constant(axes)], result)
    return result


@step()
def extreme(graph: Graph, value: Value) -> Value:
    other = graph.constant(full_range(graph.rng, value.dtype, value.shape), value.quantization)
    result = graph.result(value, value.shape)
    graph.operator(str(graph.choice("MAXIMUM", "MINIMUM")), [value.index, other], result)
    return result
