"""Steps in float32 whose results are exact: hybrid operators, and single operations."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential.graphs import ACTIVATIONS, Graph, Value, step
from tests.differential.layers import convolved, pooled, window_of
from tests.differential.single import single


def _reals(graph: Graph, value: Value) -> Value:
    """Return real numbers: those of the value, or of another input."""
    if graph.chance(0.3):
        return graph.reals(value.shape, value.scale)
    result = graph.tensor(value.shape, "float32", None)
    graph.operator("DEQUANTIZE", [value.index], result)
    return result


def _quantized(graph: Graph, value: Value, reals: Value, scale: float) -> Value:
    result = graph.result(value, reals.shape, scale)
    graph.operator("QUANTIZE", [reals.index], result)
    return result


def _weights(graph: Graph, shape: Sequence[int], axis: int, *, always: bool = False) -> Any:
    data = np.maximum(graph.data("int8", shape), -127)
    count = shape[axis] if always or graph.chance(0.6) else 1
    scales = graph.rng.uniform(0.002, 0.03, count).astype(np.float32)
    return graph.constant(data, Quantization(scales, np.zeros(count, np.int64), axis))


def _bias(graph: Graph, channels: int, spread: float) -> int:
    return graph.constant(graph.rng.normal(0, spread, channels).astype(np.float32))


@step(weight=2, int16=True)
def hybrid_dense(graph: Graph, value: Value) -> Value | None:
    depth = prod(value.shape[1:])
    if depth > 4000:
        return None
    units = int(graph.choice(1, 3, 8, 16, 17, 33, 64))
    spread = value.scale * 70 * float(np.sqrt(depth))
    operands = [_reals(graph, value).index, _weights(graph, (units, depth), 0)]
    if graph.chance(0.8):
        operands.append(_bias(graph, units, spread))
    reals = graph.tensor((value.shape[0], units), "float32", None)
    graph.operator(
        "FULLY_CONNECTED",
        operands,
        reals,
        version=9,
        asymmetric_quantize_inputs=bool(graph.chance(0.5)),
        fused_activation_function=str(graph.choice(*ACTIVATIONS)),
    )
    return _quantized(graph, value, reals, spread / 60)


@step(weight=2, int16=True)
def hybrid_convolution(graph: Graph, value: Value) -> Value | None:
    window = window_of(graph, value, 4, True) if len(value.shape) == 4 else None
    if window is None:
        return None
    depth = value.shape[3]
    is_depthwise = graph.chance(0.4)
    channels = depth if is_depthwise else int(graph.choice(1, 4, 8, 16, 17, 24))
    shape = (1, *window["taps"], depth) if is_depthwise else (channels, *window["taps"], depth)
    taps = prod(window["taps"]) * (1 if is_depthwise else depth)
    spread = value.scale * 70 * float(np.sqrt(taps))
    operands = [_reals(graph, value).index]
    operands.append(_weights(graph, shape, 3 if is_depthwise else 0, always=is_depthwise))
    operands.append(_bias(graph, channels, spread))
    options = convolved(graph, window)
    if is_depthwise:
        options["depth_multiplier"] = 1
    code = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
    reals = graph.tensor((value.shape[0], *window["spans"], channels), "float32", None)
    graph.operator(code, operands, reals, version=6 if is_depthwise else 5, **options)
    return _quantized(graph, value, reals, spread / 60)


@step(int16=True, ranks=range(2, 5))
def hybrid_product(graph: Graph, value: Value) -> Value | None:
    if value.shape[-1] > 400:
        return None
    depth, units = value.shape[-1], int(graph.choice(1, 5, 16))
    transposed = bool(graph.chance(0.5))
    weights = _weights(
        graph, (units, depth) if transposed else (depth, units), 0 if transposed else 1
    )
    reals = graph.tensor((*value.shape[:-1], units), "float32", None)
    options = {"adj_y": transposed, "asymmetric_quantize_inputs": bool(graph.chance(0.5))}
    operands = [_reals(graph, value).index, weights]
    graph.operator("BATCH_MATMUL", operands, reals, version=4, **options)
    return _quantized(graph, value, reals, value.scale * 70 * float(np.sqrt(depth)) / 60)


@step(weight=2, int16=True)
def real_arithmetic(graph: Graph, value: Value) -> Value:
    """Two operations that a compiler would fuse into one with one rounding."""
    reals, other = _reals(graph, value), graph.reals(value.shape, value.scale)
    for code in (graph.choice("MUL", "SUB", "ADD"), graph.choice("ADD", "SUB", "MAXIMUM")):
        result = graph.tensor(value.shape, "float32", None)
        operands = [reals.index, other.index]
        graph.operator(str(code), operands if graph.chance(0.5) else operands[::-1], result)
        reals = result
    return _quantized(graph, value, reals, value.scale * 60)


_FUNCTIONS = (
    *("ABS", "NEG", "SQUARE", "SIGN", "FLOOR", "HARD_SWISH", "LEAKY_RELU"),
    *("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"),
)


@step(int16=True)
def real_function(graph: Graph, value: Value) -> Value:
    reals = _reals(graph, value)
    for code in (graph.choice(*_FUNCTIONS), *(("ABS", "SQRT") if graph.chance(0.1) else ())):
        result = graph.tensor(value.shape, "float32", None)
        options = {"alpha": float(graph.rng.uniform(0, 1))} if code == "LEAKY_RELU" else {}
        graph.operator(str(code), [reals.index], result, **options)
        reals = result
    return _quantized(graph, value, reals, value.scale)


@step(int16=True)
def real_grid(graph: Graph, value: Value) -> Value:
    """Round to evenly spaced numbers."""
    result = graph.tensor(value.shape, "float32", None)
    low, high = (float(graph.rng.uniform(0, 60)) * value.scale for _ in range(2))
    ends = {"min": -low, "max": high + value.scale, "num_bits": int(graph.choice(1, 4, 8, 16))}
    graph.operator("FAKE_QUANT", [_reals(graph, value).index], result, **ends)
    return _quantized(graph, value, result, value.scale)


@step(int16=True)
def real_rows(graph: Graph, value: Value) -> Value | None:
    """Add up rows, or average them; rows of one index need not be consecutive."""
    if len(value.shape) < 2:
        return None
    count, places = (int(graph.rng.integers(1, most)) for most in (9, 5))
    rows = graph.rng.integers(0, value.shape[0], count).astype(np.int32)
    where = graph.rng.integers(0, places, (count, 2)).astype(np.int32)
    where = np.sort(where, 0) if graph.chance(0.5) else where
    operands = [graph.aside(rows), graph.aside(where), graph.constant([places, 9])]
    operands.append(graph.aside(graph.rng.uniform(0.2, 2, count).astype(np.float32)))
    result = graph.tensor((places, *value.shape[1:]), "float32", None)
    operands.append(_reals(graph, value).index)
    combiner = str(graph.choice("SUM", "MEAN", "SQRTN"))
    graph.operator("EMBEDDING_LOOKUP_SPARSE", operands, result, combiner=combiner)
    return _quantized(graph, value, result, value.scale)


@step(int16=True, ranks=range(5))
def real_pair(graph: Graph, value: Value) -> Value | None:
    """Combine with numbers that are not near 0, by which a quotient stays of their size."""
    numbers = graph.rng.uniform(0.5, 4, value.shape[-1:]) * graph.rng.choice([-1, 1])
    other = graph.aside(numbers.astype(np.float32))
    code = str(graph.choice("DIV", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD"))
    result = graph.tensor(value.shape, "float32", None)
    graph.operator(code, [_reals(graph, value).index, other], result)
    scale = value.scale
    if code == "SQUARED_DIFFERENCE":  # QUANTIZE by a scale that int32 has no quotient for
        scale = max(scale, (scale * 2**15 + 4) ** 2 * 2.0**-18)
    return _quantized(graph, value, result, scale)


@step(int16=True)
def four_bits(graph: Graph, value: Value) -> Value | None:
    """Quantize to int4, move that, and come back."""
    shape = list(value.shape)
    if len(shape) > 4:
        return None
    point = int(graph.rng.integers(-8, 8))
    encoding = Quantization.per_tensor(value.scale * float(graph.rng.uniform(4, 40)), point)
    packed = graph.tensor(shape, "int4", encoding)
    graph.operator("QUANTIZE", [_reals(graph, value).index], packed, version=4)
    code, order = str(graph.choice(*_MOVES_OF_FOUR_BITS)), graph.rng.permutation(len(shape))
    operands, options = [packed.index], {}
    if code == "CONCATENATION":
        axis = int(order[0])
        operands, options = [packed.index, packed.index], {"axis": axis}
        shape[axis] *= 2
    elif code == "SLICE":
        begins = [int(graph.rng.integers(size)) for size in shape]
        shape = [size - begin for size, begin in zip(shape, begins, strict=True)]
        operands += [graph.constant(begins), graph.constant(shape)]
    elif code == "RESHAPE":
        shape = [shape[0], prod(shape[1:])]
        operands.append(graph.constant(shape))
    else:
        shape = [shape[axis] for axis in order]
        operands.append(graph.constant(order))
    moved = graph.tensor(shape, "int4", encoding)
    graph.operator(code, operands, moved, version=_MOVES_OF_FOUR_BITS[code], **options)
    reals = graph.tensor(shape, "float32", None)
    graph.operator("DEQUANTIZE", [moved.index], reals, version=6)
    return _quantized(graph, value, reals, value.scale)


@step(int16=True, ranks=range(5))
def real_slopes(graph: Graph, value: Value) -> Value | None:
    slopes = graph.constant(graph.rng.normal(0, 1, value.shape[-1:]).astype(np.float32))
    result = graph.tensor(value.shape, "float32", None)
    graph.operator("PRELU", [_reals(graph, value).index, slopes], result)
    return _quantized(graph, value, result, value.scale)


_MOVED = single("CONCATENATION", "PACK", "PAD", "PADV2", "REDUCE_MAX", "REDUCE_MIN", "TILE")


@step(int16=True, ranks=range(5))
def real_moves(graph: Graph, value: Value) -> Value | None:
    """Add up, or move."""
    reals = _reals(graph, value)
    if graph.chance(0.8):
        moved = _MOVED(graph, reals)
        return None if moved is None else _quantized(graph, value, moved, value.scale)
    others = [graph.reals(value.shape, value.scale).index for _ in range(2)]
    result = graph.tensor(value.shape, "float32", None)
    graph.operator("ADD_N", [reals.index, *others], result)
    return _quantized(graph, value, result, value.scale)


_MOVES_OF_FOUR_BITS = {"CONCATENATION": 7, "RESHAPE": 1, "SLICE": 8, "TRANSPOSE": 8}
"""Operators and their versions."""


@step(int16=True)
def real_window(graph: Graph, value: Value) -> Value | None:
    window = window_of(graph, value, 4, False) if len(value.shape) == 4 else None
    if window is None:
        return None
    result = graph.tensor((value.shape[0], *window["spans"], value.shape[3]), "float32", None)
    operands = [_reals(graph, value).index]
    graph.operator("MAX_POOL_2D", operands, result, **pooled(graph, window))
    return _quantized(graph, value, result, value.scale)


@step(int16=True, ranks=(4,))
def real_resize(graph: Graph, value: Value) -> Value | None:
    size = [int(each) for each in graph.rng.integers(1, 12, 2)]
    code = str(graph.choice("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"))
    options = graph.choice({}, {"align_corners": True}, {"half_pixel_centers": True})
    result = graph.tensor((value.shape[0], *size, value.shape[3]), "float32", None)
    graph.operator(code, [_reals(graph, value).index, graph.constant(size)], result, **options)
    return _quantized(graph, value, result, value.scale)
