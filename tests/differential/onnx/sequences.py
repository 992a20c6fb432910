"""Layers over time, which ONNX Runtime computes in float32."""

from typing import Any

import numpy as np

from tests.differential.onnx.graphs import Graph, Value, step
from tests.support.onnx_recurrent import DIRECTIONS, GATES

_OPEN = ("Tanh", "Sigmoid", "HardSigmoid", "Softsign")
"""Functions of gates; with others states grow until they are infinite."""
_BENT = ("Relu", "HardSigmoid", "Softsign", "LeakyRelu")
"""Functions of what gates let through."""


@step(weight=2, ranks=(3, 4))
def over_time(graph: Graph, value: Value) -> Value | None:
    real, shape = graph.real(value), value.shape
    if len(shape) > 3:
        shape = (shape[0] * shape[1], shape[2], shape[3])
        real = graph.node("Reshape", [real, graph.constant(np.array(shape, np.int64))])
    steps, batch, size = shape
    op, direction = str(graph.choice("LSTM", "GRU", "RNN")), str(graph.choice(*DIRECTIONS))
    if steps > 40 or (op == "RNN" and batch == 1):
        return None  # of one row ONNX Runtime's products have another order
    units, count = int(graph.rng.integers(1, 20)), DIRECTIONS[direction]
    columns = GATES[op] * units
    arrays: list[Any] = [(count, columns, size), (count, columns, units), (count, 2 * columns)]
    names = [graph.constant(_reals(graph, *each)) for each in arrays]
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": units}
    lengths = states = ""
    if graph.chance(0.4):
        lengths = graph.constant(graph.rng.integers(1, steps + 1, batch).astype(np.int32))
    if graph.chance(0.4):
        states = graph.constant(_reals(graph, count, batch, units))
    if op == "GRU":
        attributes["linear_before_reset"] = int(graph.choice(0, 1))
    if graph.chance(0.4):
        attributes["clip"] = float(graph.choice(0.5, 3.0))
    if op == "RNN":
        # The exponential of the C library, which RNN takes, is not rounded to the nearest number.
        attributes["activations"] = [str(graph.choice(*_BENT)) for _ in range(count)]
    elif graph.chance(0.3):
        kinds = [_OPEN, *[_BENT] * (2 if op == "LSTM" else 1)] * count
        attributes["activations"] = [str(graph.choice(*kind)) for kind in kinds]
    node = graph.node(op, [real, *names, lengths, states], **attributes)
    result = graph.result((steps, count, batch, units), 1 / 64)
    return graph.add(graph.node("QuantizeLinear", [node, *result.encoding]), result)


def _reals(graph: Graph, *shape: int) -> Any:
    return graph.rng.normal(0, 0.4, shape).astype(np.float32)
