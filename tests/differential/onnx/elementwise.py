"""Steps element by element: sums, products, functions of one value, softmax."""

import numpy as np

from tests.differential.onnx.graphs import Graph, Value, step


@step(weight=2)
def add(graph: Graph, value: Value) -> Value | None:
    return _pair(graph, value, "Add")


@step()
def multiply(graph: Graph, value: Value) -> Value | None:
    return _pair(graph, value, "Mul")


def _pair(graph: Graph, value: Value, op: str) -> Value:
    other = other_of(graph, value)
    operands = [value, other] if graph.chance(0.7) else [other, value]
    scale = (value.scale + other.scale) * 0.7
    if op == "Mul":
        scale = value.scale * other.scale * 100
    return graph.group(op, operands, graph.result(value.shape, scale))


def other_of(graph: Graph, value: Value) -> Value:
    """Draw the other of a pair: itself or another of its shape, or one that is repeated."""
    like = [each for each in graph.values if each.shape == value.shape]
    kind = graph.choice("known", "known", "input", "constant", "constant")
    if kind == "known":
        return graph.choice(*like)
    if kind == "input":
        return graph.input(_repeated(graph, value))
    scale, point = graph.encoding(value.scale)
    return graph.held(graph.data(_repeated(graph, value)), scale, point)


def _repeated(graph: Graph, value: Value) -> tuple[int, ...]:
    """Return a shape that is broadcast to a tensor's."""
    if graph.chance(0.3):
        return value.shape
    shape = tuple(size if graph.chance(0.5) else 1 for size in value.shape)
    first = int(graph.rng.integers(len(shape) + 1)) if graph.chance(0.4) else 0
    return shape[first:]


@step()
def sigmoid(graph: Graph, value: Value) -> Value:
    return graph.group("Sigmoid", [value], graph.result(value.shape, 1 / 256))


@step()
def leaky_relu(graph: Graph, value: Value) -> Value:
    alpha = float(np.float32(graph.choice(0.01, 0.1, 0.25, 1.5, 0.0, -0.5)))
    result = graph.result(value.shape, value.scale)
    return graph.group("LeakyRelu", [value], result, alpha=alpha)


@step()
def softmax(graph: Graph, value: Value) -> Value:
    result = graph.result(value.shape, 1 / 256)
    return graph.group("Softmax", [value], result, axis=int(graph.choice(-1, len(value.shape) - 1)))


@step()
def relu(graph: Graph, value: Value) -> Value:
    point = graph.lowest if graph.chance(0.5) else None
    return graph.group("Relu", [value], graph.result(value.shape, value.scale, point))


@step()
def clip(graph: Graph, value: Value) -> Value:
    result = graph.result(value.shape, value.scale)
    ends = sorted(float(end) for end in graph.rng.normal(0, 100 * value.scale, 2))
    if graph.chance(0.3):
        ends = [-1e6, 1e6]
    names = [graph.constant(np.float32(end)) for end in ends]
    real = graph.node("Clip", [graph.real(value), *names])
    return graph.add(graph.node("QuantizeLinear", [real, *result.encoding]), result)
