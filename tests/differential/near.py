"""Operators of float32 whose results depend on the order of sums, or on a library's functions.

Nothing grows from them: an error within a bound would become a step beside a tie. Data and weights
are about 1, so that a bound says how far results may lie apart.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from qnn_ops.arrays import Array
from tests.differential.graphs import Graph, Value, step
from tests.differential.layers import window_of
from tests.support.recurrent_layers import BothWays, Lstm, Rnn, parts
from tests.support.tflite import ANY

_UNIT = 2.0**-24


def _numbers(graph: Graph, shape: Sequence[int]) -> Array:
    return graph.rng.normal(0, 1, tuple(shape)).astype(np.float32)


def _result(graph: Graph, code: str, operands: Sequence[int], bound: float, **more: Any) -> None:
    result = graph.tensor(ANY, "float32", None)
    graph.operator(code, operands, result, **more)
    graph.bounds[result.index] = bound


def _sum_bound(count: int) -> float:
    """Return how far two sums of so many products of numbers of about 1 may lie apart."""
    return 2 * count * _UNIT * (count + 8)


@step(int16=True)
def near_function(graph: Graph, value: Value) -> Value:
    """Apply a function; what is an argument of LOG, RSQRT and POW is positive."""
    code = str(graph.choice(*_FUNCTIONS))
    positive = graph.rng.uniform(0.1, 4, value.shape).astype(np.float32)
    data = positive if code in ("LOG", "RSQRT", "POW") else _numbers(graph, value.shape)
    operands = [graph.aside(data)]
    if code in ("ATAN2", "POW"):
        operands.append(graph.aside(_numbers(graph, value.shape)))
    if code == "POW" and len(value.shape) > 4:
        return value
    _result(graph, code, operands, 2.0**-10 if code == "POW" else 2.0**-14)
    return value


_FUNCTIONS = ("ATAN2", "COS", "EXP", "GELU", "LOG", "LOGISTIC", "POW", "RSQRT", "SIN", "TANH")


@step(int16=True, ranks=range(2, 5))
def near_rows(graph: Graph, value: Value) -> Value | None:
    """Combine the elements of rows, or of the first axis."""
    code, options = str(graph.choice(*_OF_ROWS)), dict[str, Any]()
    if code == "LOCAL_RESPONSE_NORMALIZATION" and len(value.shape) != 4:
        return None
    operands, bound = [graph.aside(_numbers(graph, value.shape))], 2.0**-16
    if code in ("MEAN", "SUM", "REDUCE_PROD"):
        axis = 0 if code == "REDUCE_PROD" else len(value.shape) - 1
        operands.append(graph.constant([axis]))
        bound, options = 0.0, {"keep_dims": True}
    elif code == "SOFTMAX":
        options = {"beta": float(graph.choice(1.0, 0.5))}
    elif code == "LOCAL_RESPONSE_NORMALIZATION":
        options = {"radius": int(graph.rng.integers(1, 4)), "bias": 1.0, "alpha": 0.1, "beta": 0.5}
    _result(graph, code, operands, bound, **options)
    return value


_OF_ROWS = (
    *("L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX"),
    *("MEAN", "SUM", "REDUCE_PROD"),
)


@step(int16=True)
def near_window(graph: Graph, value: Value) -> Value | None:
    """Pool, or convolve with weights of float32."""
    window = window_of(graph, value, 4, False) if len(value.shape) == 4 else None
    if window is None:
        return None
    depth = value.shape[3]
    strides = {"stride_h": window["strides"][0], "stride_w": window["strides"][1]}
    options = {"padding": window["padding"], **strides}
    operands = [graph.aside(_numbers(graph, value.shape))]
    code = str(graph.choice(*_OF_WINDOWS))
    if code.endswith("POOL_2D"):
        options |= {
            f"filter_{name}": window["taps"][i] for i, name in ((0, "height"), (1, "width"))
        }
    elif code == "CONV_2D":
        channels = int(graph.choice(1, 4, 17))
        weights = _numbers(graph, (channels, *window["taps"], depth))
        operands += [graph.constant(weights), graph.constant(_numbers(graph, [channels]))]
    else:
        operands.append(graph.constant(_numbers(graph, (1, *window["taps"], depth))))
        operands.append(graph.constant(_numbers(graph, [depth])))
        options["depth_multiplier"] = 1
    bound = _sum_bound(prod(window["taps"])) if code == "L2_POOL_2D" else 0.0
    _result(graph, code, operands, bound, version=1, **options)
    return value


_OF_WINDOWS = ("AVERAGE_POOL_2D", "L2_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D")


@step(int16=True)
def near_product(graph: Graph, value: Value) -> Value | None:
    """Multiply matrices of float32."""
    depth, units = value.shape[-1], int(graph.choice(1, 5, 16, 33))
    if not 2 <= len(value.shape) <= 4:
        return None
    code = str(graph.choice("FULLY_CONNECTED", "BATCH_MATMUL"))
    rows = value.shape if code == "BATCH_MATMUL" else (prod(value.shape[:-1]), depth)
    operands = [graph.aside(_numbers(graph, rows))]
    operands.append(graph.constant(_numbers(graph, (units, depth))))
    if code == "FULLY_CONNECTED" and graph.chance(0.5):
        operands.append(graph.constant(_numbers(graph, [units])))
    options = {"adj_y": True} if code == "BATCH_MATMUL" else {}
    _result(graph, code, operands, 0.0, version=1, **options)
    return value


@step(int16=True)
def near_transposed(graph: Graph, value: Value) -> Value:
    """Transpose a convolution, of images or volumes, hybrid too."""
    axes = int(graph.choice(2, 2, 3))
    sizes, taps, steps = (graph.rng.integers(1, end, axes) for end in (5, 4, 3))
    depth, channels = (int(each) for each in graph.rng.integers(1, 6, 2))
    shape = (1, *((sizes - 1) * steps + taps), channels)
    data = graph.aside(_numbers(graph, (1, *sizes, depth)))
    most = _sum_bound(depth * prod(int(tap) for tap in taps))
    bound = 0.0 if axes == 2 else most
    kernel = (channels, *taps, depth) if axes == 2 else (*taps, channels, depth)
    weights = graph.constant(_numbers(graph, kernel))
    if axes == 2 and graph.chance(0.5):
        array = graph.rng.integers(-127, 128, kernel).astype(np.int8)
        scales = graph.rng.uniform(0.005, 0.02, channels).astype(np.float32)
        weights = graph.constant(array, Quantization(scales, np.zeros(channels, np.int64), 0))
        bound = most
    operands = [graph.constant(np.array(shape, np.int32)), weights, data]
    code = "TRANSPOSE_CONV" if axes == 2 else "CONV_3D_TRANSPOSE"
    options: dict[str, Any] = {"padding": "VALID"}
    options |= {
        f"stride_{name}": int(size) for name, size in zip("dhw"[3 - axes :], steps, strict=True)
    }
    _result(graph, code, operands, bound, version=1, **options)
    return value


@step(int16=True)
def near_volume(graph: Graph, value: Value) -> Value:
    taps, spans, steps = (graph.rng.integers(1, most, 3) for most in (4, 5, 3))
    depth, channels = (int(each) for each in graph.rng.integers(1, 6, 2))
    sizes = (spans - 1) * steps + taps
    operands = [graph.aside(_numbers(graph, (1, *sizes, depth)))]
    operands.append(graph.constant(_numbers(graph, (*taps, depth, channels))))
    options: dict[str, Any] = {"padding": "VALID"}
    options |= {f"stride_{name}": int(size) for name, size in zip("dhw", steps, strict=True)}
    bound = _sum_bound(depth * prod(int(tap) for tap in taps))
    _result(graph, "CONV_3D", operands, bound, **options)
    return value


@step(int16=True)
def near_transform(graph: Graph, value: Value) -> Value:
    rows, columns = (int(2**each) for each in graph.rng.integers(1, 5, 2))
    data = graph.aside(_numbers(graph, (2, rows, columns)))
    whole = graph.writer.tensor(f"spectrum{data}", ANY, "complex64")
    lengths = graph.constant([rows, columns])
    graph.writer.operator("RFFT2D", [data, lengths], [whole])
    graph.codes.append("RFFT2D")
    for code in ("COMPLEX_ABS", "REAL", "IMAG"):
        _result(graph, code, [whole], 4 * _UNIT * 2 * rows * columns)
    return value


@step(int16=True)
def near_filter(graph: Graph, value: Value) -> Value:
    """Filter over time, with weights of float32 or of bytes."""
    batch, size, units, rank, steps = (int(each) for each in graph.rng.integers(1, 9, 5))
    filters, is_hybrid = units * rank, graph.chance(0.5)
    operands = [graph.aside(_numbers(graph, (batch, size)))]
    for columns in (size, steps):
        array = _numbers(graph, (filters, columns))
        if is_hybrid:
            array = np.asarray(graph.rng.integers(-127, 128, array.shape), np.int8)
        encoding = Quantization.per_tensor(0.02, 0) if is_hybrid else None
        operands.append(graph.constant(array, encoding))
    operands.append(graph.constant(_numbers(graph, [units])) if graph.chance(0.5) else -1)
    kept = (batch, filters * steps)
    name = f"memory{operands[0]}"
    operands.append(graph.writer.tensor(name, kept, "float32", is_variable=True))
    options = {"rank": rank, "asymmetric_quantize_inputs": graph.chance(0.5)}
    bound = size * _sum_bound(size + rank * steps)
    _result(graph, "SVDF", operands, bound, **options)
    return value


@step(int16=True)
def near_memory(graph: Graph, value: Value) -> Value:
    """Run an LSTM of float32, or a hybrid one."""
    batch, steps, size, cells = (int(each) for each in graph.rng.integers(1, 8, 4))
    weights = str(graph.choice("float32", "int8", "uint8"))
    lstm = Lstm(
        *(weights, batch, graph.choice(steps, steps, None), size, cells),
        outputs=_projected(graph, weights, cells),
        coupled=graph.chance(0.5),
        peepholes=graph.chance(0.5),
        norm=graph.chance(0.3),
        time_major=graph.chance(0.5),
        cell_clip=graph.choice(0.0, 0.5),
        proj_clip=graph.choice(0.0, 0.3),
        asymmetric=graph.chance(0.5),
    )
    return _over_time(graph, value, lstm, weights)


@step(int16=True)
def near_loop(graph: Graph, value: Value) -> Value:
    """Run a plain recurrent layer of float32, or a hybrid one."""
    batch, steps, size, units = (int(each) for each in graph.rng.integers(1, 8, 4))
    weights = str(graph.choice("float32", "int8", "uint8"))
    activation = str(graph.choice("TANH", "RELU6", "RELU_N1_TO_1"))
    times = steps if graph.chance(0.7) else None
    flags = graph.chance(0.5), graph.chance(0.5)
    rnn = Rnn(weights, batch, times, size, units, activation, *flags)
    return _over_time(graph, value, rnn, weights)


@step(int16=True)
def near_both_ways(graph: Graph, value: Value) -> Value:
    """Run two recurrent layers, one of them backwards, where LiteRT's numbers are no accident."""
    batch, steps, size, units = (int(each) for each in graph.rng.integers(1, 8, 4))
    weights = str(graph.choice("float32", "int8", "uint8"))
    time_major, asymmetric, merged = (graph.chance(0.5) for _ in range(3))
    sizes = weights, batch, steps, size, units, "TANH"
    if graph.chance(0.5):
        layer: Lstm | Rnn = Lstm(
            *(*sizes, time_major, asymmetric, _projected(graph, weights, units)),
            coupled=graph.chance(0.5),
            peepholes=graph.chance(0.5),
        )
        merged = merged and (time_major or batch == 1)
        beside = int(graph.choice(0, size, 3))
        crossed = beside != size or graph.chance(0.5)
    else:
        time_major = time_major and weights == "float32"
        layer = Rnn(*sizes, time_major, asymmetric)
        beside, crossed = int(graph.choice(0, size)), not time_major or graph.chance(0.5)
    both = BothWays(layer, int(graph.rng.integers(1, 8)), merged, beside, crossed)
    return _over_time(graph, value, both, weights)


def _over_time(graph: Graph, value: Value, layer: Lstm | Rnn | BothWays, weights: str) -> Value:
    data = [graph.aside(_numbers(graph, shape)) for shape, *_ in layer.takes]
    operands, options = parts(layer, graph.writer, graph.rng, *data)
    results = [graph.tensor(*kind) for kind in layer.gives]
    graph.operator(layer.code, operands, *results, **options)
    graph.bounds |= {each.index: _bound_over_time(weights) for each in results}
    return value


def _projected(graph: Graph, weights: str, cells: int) -> int:
    # Of float32, LiteRT puts the bias of each output where it has memory for each cell, and then
    # into another tensor.
    most = cells if weights == "float32" else 7
    return int(graph.choice(0, int(graph.rng.integers(1, most + 1))))


def _bound_over_time(weights: str) -> float:
    # Hybrid, a hidden value at a tie may be quantized either way. A norm divides errors.
    return 2.0**-12 if weights == "float32" else 2.0**-5
