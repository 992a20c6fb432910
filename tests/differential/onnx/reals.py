"""Steps that ONNX Runtime computes in float32 between quantized tensors."""

from typing import Any

import numpy as np

from tests.differential.onnx.elementwise import other_of
from tests.differential.onnx.graphs import Graph, Value, step

_FUNCTIONS: dict[str, dict[str, tuple[float, ...]]] = {
    **{name: {} for name in ("Abs", "Ceil", "Floor", "HardSwish", "Neg", "Round", "Sqrt")},
    "Elu": {"alpha": (1.0, 0.3)},
    "HardSigmoid": {"alpha": (0.2, 0.21), "beta": (0.5, 0.37)},
}
"""Operators of one tensor, and what their attributes may be."""
_BOUNDED = ("Erf", "Tanh")
_OF_AXES_AS_OPERAND = 18
"""The version from which all reductions have their axes as an operand."""
_SINES = (-1, -0.5, 0, 0.25, 1)


def _written(graph: Graph, node: str, result: Value) -> Value:
    return graph.add(graph.node("QuantizeLinear", [node, *result.encoding]), result)


@step(weight=3)
def function(graph: Graph, value: Value) -> Value:
    op = str(graph.choice(*_FUNCTIONS))
    drawn = _FUNCTIONS[op].items()
    attributes: dict[str, Any] = {key: float(graph.choice(*most)) for key, most in drawn}
    scale = 1 / 256 if op == "HardSigmoid" else value.scale
    return graph.group(op, [value], graph.result(value.shape, scale), **attributes)


@step()
def bounded(graph: Graph, value: Value) -> Value:
    op = str(graph.choice(*_BOUNDED))
    return graph.group(op, [value], graph.result(value.shape, 1 / 128))


@step()
def growing(graph: Graph, value: Value) -> Value:
    op = str(graph.choice("Exp", "Log"))
    return graph.group(op, [value], graph.result(value.shape, 0.05))


@step(weight=2)
def rotation(graph: Graph, value: Value) -> Value | None:
    """Rotate heads, with sines whose products are exact: so is each sum, however it is rounded."""
    width = value.shape[-1]
    if len(value.shape) not in (3, 4) or width < 2 or width % 2:
        return None
    tokens, places = value.shape[-2], int(graph.rng.integers(1, 20))
    tables = [
        graph.constant(graph.rng.choice(_SINES, (places, width // 2)).astype(np.float32))
        for _ in range(2)
    ]
    if tokens > places:
        return None
    numbers = graph.constant(graph.rng.integers(0, places, (value.shape[0], tokens)))
    how = {"interleaved": int(graph.choice(0, 1))}
    node = graph.node("RotaryEmbedding", [graph.real(value), numbers, *tables], **how)
    return _written(graph, node, graph.result(value.shape, value.scale))


@step(weight=2)
def pair(graph: Graph, value: Value) -> Value:
    op = str(graph.choice("Sub", "Div", "Max", "Min"))
    other = other_of(graph, value)
    operands = [value, other] if graph.chance(0.7) else [other, value]
    scale = 0.1 if op == "Div" else (value.scale + other.scale) * 0.7
    return graph.group(op, operands, graph.result(value.shape, scale))


@step()
def prelu(graph: Graph, value: Value) -> Value:
    size = value.shape[1] if len(value.shape) > 1 else 1
    slopes = graph.rng.normal(0.2, 0.3, (size, *[1] * (len(value.shape) - 2)))
    names = [graph.real(value), graph.constant(slopes.astype(np.float32))]
    return _written(graph, graph.node("PRelu", names), graph.result(value.shape, value.scale))


@step()
def batch_normalization(graph: Graph, value: Value) -> Value | None:
    if len(value.shape) < 3:
        return None
    size = value.shape[1]
    numbers = [graph.rng.normal(0, 1, size) for _ in range(3)]
    numbers.append(graph.rng.uniform(0.1, 3, size))
    names = [graph.constant(each.astype(np.float32)) for each in numbers]
    node = graph.node("BatchNormalization", [graph.real(value), *names])
    return _written(graph, node, graph.result(value.shape, value.scale * 2))


@step(weight=2, ranks=(4,))
def conv_transpose(graph: Graph, value: Value) -> Value | None:
    if value.shape[2] * value.shape[3] > 100:
        return None
    batch, depth, *image = value.shape
    groups = int(graph.choice(1, 1, depth, *(n for n in (2, 3) if depth % n == 0)))
    if groups > 16:
        groups = 1
    units = int(graph.rng.integers(1, 5))
    taps = [int(size) for size in graph.rng.integers(1, 5, 2)]
    strides = list(graph.choice((1, 1), (2, 2), (2, 2), (1, 2), (3, 2)))
    pads = [int(graph.rng.integers(0, tap)) for tap in (*taps, *taps)]
    more = [int(graph.rng.integers(0, stride)) for stride in strides]
    spans = [
        (size - 1) * strides[i] + taps[i] + more[i] - pads[i] - pads[i + 2]
        for i, size in enumerate(image)
    ]
    if min(spans) < 1:
        return None
    weights = graph.weights((depth, units, *taps), 1)
    if weights.axis is not None:
        return None  # several groups share a scale
    names = [graph.real(value), graph.real(weights)]
    if graph.chance(0.7):
        bias = graph.rng.normal(0, 50 * value.scale, units * groups)
        names.append(graph.constant(bias.astype(np.float32)))
    node = graph.node(
        "ConvTranspose", names, strides=strides, pads=pads, output_padding=more, group=groups
    )
    scale = value.scale * weights.scale * 74 * 74 * (depth / groups) ** 0.5 / 25
    return _written(graph, node, graph.result((batch, units * groups, *spans), scale))


@step(weight=2, ranks=(4,))
def resize(graph: Graph, value: Value) -> Value | None:
    sizes = [int(size) for size in graph.rng.integers(1, 15, 2)]
    modes = ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
    attributes: dict[str, Any] = {"coordinate_transformation_mode": graph.choice(*modes)}
    shape = [*value.shape[:2], *sizes]
    sized = graph.constant(np.array(shape, np.int64))
    if graph.chance(0.5):
        attributes["mode"] = "linear"
        node = graph.node("Resize", [graph.real(value), "", "", sized], **attributes)
        return _written(graph, node, graph.result(shape, value.scale))
    attributes["nearest_mode"] = graph.choice("round_prefer_floor", "floor", "ceil")
    node = graph.node("Resize", [graph.real(value), "", "", sized], **attributes)
    same = Value("", tuple(shape), value.scales, value.point, value.encoding)
    return _written(graph, node, same if graph.chance(0.7) else graph.result(shape, value.scale))


@step()
def reduce(graph: Graph, value: Value) -> Value:
    op = str(graph.choice("ReduceMax", "ReduceMean", "ReduceMin"))
    rank = len(value.shape)
    first = int(graph.rng.integers(rank))
    axes = list(range(first, rank)) if op == "ReduceMean" else [first]
    shape = [1 if axis in axes else size for axis, size in enumerate(value.shape)]
    result = graph.result(shape, value.scale)
    if op != "ReduceMean" and graph.chance(0.7):
        result = Value("", tuple(shape), value.scales, value.point, value.encoding)
    if graph.opset < _OF_AXES_AS_OPERAND:
        return _written(graph, graph.node(op, [graph.real(value)], axes=axes), result)
    names = [graph.real(value), graph.constant(np.array(axes, np.int64))]
    return _written(graph, graph.node(op, names), result)


@step(ranks=(4,))
def largest_of_all(graph: Graph, value: Value) -> Value | None:
    shape = (*value.shape[:2], 1, 1)
    return graph.group("GlobalMaxPool", [value], graph.result(shape, value.scale))


@step(weight=2)
def where(graph: Graph, value: Value) -> Value:
    other = other_of(graph, value)
    first, second = graph.real(value), graph.real(other)
    op = str(graph.choice("Greater", "GreaterOrEqual", "Less", "LessOrEqual"))
    result = graph.result(value.shape, value.scale + other.scale)
    if graph.chance(0.5):
        mask = graph.constant(graph.rng.random(value.shape) < 0.5)
    else:
        mask = graph.node(op, [first, second])
    return _written(graph, graph.node("Where", [mask, first, second]), result)
