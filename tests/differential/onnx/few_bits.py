"""Steps of weights and tables of a few bits, with a scale for each block."""

from math import log2, prod

import numpy as np

from qnn_ops.arrays import Array
from tests.differential.onnx.graphs import Graph, Value, step

_MOST_SUM = {2: 512, 4: 256, 8: 64}
"""Products of a sum that float32 holds, whatever their order: of numbers of 8 bits and so many."""


@step(weight=2)
def product(graph: Graph, value: Value) -> Value | None:
    """Multiply numbers with few bits: scales are powers of two."""
    bits, depth = int(graph.choice(2, 4, 8)), value.shape[-1]
    if not log2(value.scale).is_integer() or depth > _MOST_SUM[bits] or prod(value.shape) > 4000:
        return None
    units, size = int(graph.rng.integers(1, 40)), int(graph.choice(16, 32, 64))
    blocks = -(-depth // size)
    scales = np.exp2(graph.rng.integers(-6, -5 if bits > 4 else -3, (units, blocks)))
    weights = graph.rng.integers(0, 256, (units, blocks, size * bits // 8))
    names = [
        graph.real(value),
        graph.constant(weights.astype(np.uint8)),
        graph.constant(scales.astype(np.float32)),
    ]
    if graph.chance(0.6):
        names.append(graph.constant(_points(graph, units, blocks, bits)))
    how = {"N": units, "K": depth, "bits": bits, "block_size": size}
    node = graph.node("MatMulNBits", names, **how)
    scale = value.scale * depth**0.5 * 2.0 ** (bits - 5)
    return _written(graph, node, graph.result((*value.shape[:-1], units), scale))


@step()
def rows(graph: Graph, value: Value) -> Value | None:
    """Add rows of a table."""
    if len(value.shape) < 2 or prod(value.shape) > 4000:
        return None
    bits, depth, count = int(graph.choice(4, 8)), value.shape[-1], int(graph.rng.integers(1, 50))
    if bits == 4 and depth % 2:
        return None
    size = int(graph.choice(16, 32))
    blocks = -(-depth // size)
    table = graph.rng.integers(0, 256, (count, depth * bits // 8)).astype(np.uint8)
    scales = graph.rng.uniform(0.001, 0.05, (count, blocks)).astype(np.float32)
    places = graph.rng.integers(-count, count, value.shape[:-1])
    names = [graph.constant(each) for each in (table, places, scales)]
    if graph.chance(0.6):
        names.append(graph.constant(_points(graph, count, blocks, bits)))
    node = graph.node("GatherBlockQuantized", names, bits=bits, block_size=size)
    total = graph.node("Add", [graph.real(value), node])
    return _written(graph, total, graph.result(value.shape, value.scale * 2))


def _points(graph: Graph, count: int, blocks: int, bits: int) -> Array:
    return graph.rng.integers(0, 256, (count, -(-blocks * bits // 8))).astype(np.uint8)


def _written(graph: Graph, node: str, result: Value) -> Value:
    return graph.add(graph.node("QuantizeLinear", [node, *result.encoding]), result)
