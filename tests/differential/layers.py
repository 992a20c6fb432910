"""Steps with a window or weights: convolutions, dense layers, poolings."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.sparsity import BITS
from qnn_ops.arrays import Array
from tests.differential.graphs import ACTIVATIONS, Graph, Value, step


def window_of(graph: Graph, value: Value, most: int, dilated: bool) -> dict[str, Any] | None:
    """Draw a window that fits, and its positions: options of the operators that have one."""
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


# The scale of a channel without weights, beside others. Converters give it a bias near 2^30.
_IDLE = 1e-5


def _weights(graph: Graph, shape: Sequence[int], dtype: str, axis: int) -> tuple[Array, Any]:
    data = graph.data("int8" if dtype == "int16" else dtype, shape)
    if dtype == "uint8":
        return data, graph.encoding(dtype, 0.01)
    count = shape[axis] if graph.chance(0.7) else 1
    scales = graph.rng.uniform(0.002, 0.03, count)
    if graph.chance(1 / 8):
        scales *= 10 ** graph.rng.uniform(-7, 0, count)
    kept, data = scales.astype(np.float32), np.maximum(data, -127)
    # Numbers decide that are drawn anyway, so that other graphs stay as they were.
    if count > 1 and dtype == "int8" and scales[0] > 0.007:
        is_idle = scales < 0.007
        kept[is_idle] *= _IDLE
        np.moveaxis(data, axis, 0)[is_idle] = 0
    return data, Quantization(kept, np.zeros(count, np.int64), axis)


def _stored(graph: Graph, data: Array, quantization: Quantization) -> int:
    """Store weights, now and then only four of their bits, or two of a matrix's."""
    if data.dtype != np.int8 or graph.chance(0.9):
        return graph.constant(data, quantization)
    dtype = str(graph.choice("int4", "int2")) if data.ndim == 2 else "int4"
    return graph.tensor(data.shape, dtype, quantization, data >> (8 - BITS[dtype])).index


def _bias(graph: Graph, value: Value, weights: Quantization, kernel: Array, channels: int) -> int:
    scales = value.quantization.scale * weights.scale
    data = graph.rng.integers(-30_000, 30_000, channels)
    encoding = Quantization(scales, np.zeros(scales.size, np.int64))
    if value.dtype == "int16":
        return graph.tensor(data.shape, "int64", encoding, data << 8).index
    if weights.scale.size > 1:
        is_idle = ~np.moveaxis(kernel, weights.axis, 0).reshape(channels, -1).any(axis=1)
        data += np.where(is_idle, np.where(data < 0, -(1 << 30), 1 << 30), 0)
    return graph.constant(data.astype(np.int32), encoding)


@step(weight=4, int16=True)
def convolution(graph: Graph, value: Value) -> Value | None:
    window = window_of(graph, value, 5, True) if len(value.shape) == 4 else None
    if window is None:
        return None
    channels = int(graph.choice(1, 2, 5, 8, 15, 16, 17, 24, 32, 33, 48, 65))
    depth = value.shape[3]
    data, quantization = _weights(graph, (channels, *window["taps"], depth), value.dtype, 0)
    spread = 70 * 70 * value.scale * float(np.mean(quantization.scale))
    taps = prod(window["taps"]) * depth
    shape = (value.shape[0], *window["spans"], channels)
    result = graph.result(value, shape, spread * float(np.sqrt(taps)) / 40)
    operands = [value.index, _stored(graph, data, quantization)]
    operands.append(_bias(graph, value, quantization, data, channels))
    graph.operator("CONV_2D", operands, result, **convolved(graph, window))
    return result


@step(weight=3, int16=True)
def depthwise(graph: Graph, value: Value) -> Value | None:
    window = window_of(graph, value, 5, True) if len(value.shape) == 4 else None
    if window is None:
        return None
    multiplier = int(graph.choice(1, 1, 1, 2, 3))
    channels = value.shape[3] * multiplier
    data, quantization = _weights(graph, (1, *window["taps"], channels), value.dtype, 3)
    spread = 70 * 70 * value.scale * float(np.mean(quantization.scale))
    shape = (value.shape[0], *window["spans"], channels)
    result = graph.result(value, shape, spread * float(np.sqrt(prod(window["taps"]))) / 40)
    if value.dtype == "int16":  # LiteRT does not unpack int4 beside it
        operands = [value.index, graph.constant(data, quantization)]
    else:
        operands = [value.index, _stored(graph, data, quantization)]
    if graph.chance(0.8):
        operands.append(_bias(graph, value, quantization, data, channels))
    options = {**convolved(graph, window), "depth_multiplier": multiplier}
    graph.operator("DEPTHWISE_CONV_2D", operands, result, **options)
    return result


@step(weight=2, int16=True, ranks=(4,))
def transposed(graph: Graph, value: Value) -> Value | None:
    if max(value.shape[1:3]) > 10 or value.shape[3] > 40:
        return None
    rng = graph.rng
    taps, strides = ([int(size) for size in rng.integers(1, most, 2)] for most in (5, 4))
    padding = str(graph.choice("SAME", "VALID"))
    more = int(rng.integers(3))  # sizes of the output that make the same size of the data
    spans = [
        (size - 1) * stride + (1 if padding == "SAME" else tap) + min(more, stride - 1)
        for size, stride, tap in zip(value.shape[1:3], strides, taps, strict=True)
    ]
    channels, depth = int(graph.choice(1, 3, 8, 16, 17, 24)), value.shape[3]
    data, quantization = _weights(graph, (channels, *taps, depth), value.dtype, 0)
    spread = 70 * 70 * value.scale * float(np.mean(quantization.scale))
    count = max(1.0, prod(taps) * depth / prod(strides))
    shape = (value.shape[0], *spans, channels)
    result = graph.result(value, shape, spread * float(np.sqrt(count)) / 40)
    operands = [graph.constant(list(shape)), graph.constant(data, quantization), value.index]
    if graph.chance(0.7):
        operands.append(_bias(graph, value, quantization, data, channels))
    options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
    activation = str(graph.choice(*ACTIVATIONS))
    options["fused_activation_function"] = activation
    graph.operator("TRANSPOSE_CONV", operands, result, version=4, **options)
    return result


def convolved(graph: Graph, window: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a convolution with such a window."""
    return {
        "padding": window["padding"],
        "stride_h": window["strides"][0],
        "stride_w": window["strides"][1],
        "dilation_h_factor": window["gaps"][0],
        "dilation_w_factor": window["gaps"][1],
        "fused_activation_function": str(graph.choice(*ACTIVATIONS)),
    }


@step(weight=2, int16=True)
def dense(graph: Graph, value: Value) -> Value | None:
    depth = prod(value.shape[1:])
    if depth > 4000:
        return None
    units = int(graph.choice(1, 3, 8, 10, 16, 17, 33, 64))
    data, quantization = _weights(graph, (units, depth), value.dtype, 0)
    spread = 70 * 70 * value.scale * float(np.mean(quantization.scale))
    result = graph.result(value, (value.shape[0], units), spread * float(np.sqrt(depth)) / 40)
    operands = [value.index, _stored(graph, data, quantization)]
    if graph.chance(0.8):
        operands.append(_bias(graph, value, quantization, data, units))
    activation = str(graph.choice(*ACTIVATIONS))
    graph.operator("FULLY_CONNECTED", operands, result, fused_activation_function=activation)
    return result


@step(weight=2, int16=True, dtypes=("int8", "int16"), ranks=range(2, 5))
def product(graph: Graph, value: Value) -> Value | None:
    """Multiply by another matrix, or several, as attention does."""
    if prod(value.shape) > 20_000:
        return None
    is_turned = graph.chance(0.3), graph.chance(0.5)
    rows, depth = value.shape[-2:] if not is_turned[0] else reversed(value.shape[-2:])
    columns = int(graph.choice(1, 5, 16, 17))
    outer = value.shape[:-2] if graph.chance(0.5) else ()
    ends = (columns, depth) if is_turned[1] else (depth, columns)
    encoding = graph.encoding(value.dtype)
    data = graph.data(value.dtype, (*outer, *ends))
    is_constant = graph.chance(0.5)
    other = graph.constant(data, encoding) if is_constant else graph.aside(data, encoding)
    steps = 70 if value.dtype == "int8" else 1100
    spread = steps**2 * value.scale * float(encoding.scale[0]) * float(np.sqrt(depth)) / 40
    result = graph.result(value, (*value.shape[:-2], rows, columns), spread)
    options = {"adj_x": is_turned[0], "adj_y": is_turned[1]}
    graph.operator("BATCH_MATMUL", [value.index, other], result, **options)
    return result


@step(weight=2, int16=True)
def pool(graph: Graph, value: Value) -> Value | None:
    window = window_of(graph, value, 4, False) if len(value.shape) == 4 else None
    if window is None:
        return None
    shape = (value.shape[0], *window["spans"], value.shape[3])
    result = graph.result(value, shape)
    code = str(graph.choice("MAX_POOL_2D", "AVERAGE_POOL_2D"))
    graph.operator(code, [value.index], result, **pooled(graph, window))
    return result


def pooled(graph: Graph, window: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a pool with such a window."""
    return {
        "padding": window["padding"],
        "stride_h": window["strides"][0],
        "stride_w": window["strides"][1],
        "filter_height": window["taps"][0],
        "filter_width": window["taps"][1],
        "fused_activation_function": str(graph.choice(*ACTIVATIONS)),
    }
