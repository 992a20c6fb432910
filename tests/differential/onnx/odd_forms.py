"""Steps that few quantizers write: NaN, two dtypes in a row, float16, blocks."""

import numpy as np
import onnx

from tests.differential.onnx.graphs import OF_BLOCKS, Graph, Value, step
from tests.support.arrays import full_range

_READERS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("Abs", "Ceil", "Erf", "Floor", "Neg", "Relu", "Sign", "Sqrt", "Tanh"), ()),
    "Clip": (-1.0, 2.0),
    "Max": (0.5,),
    "Min": (0.5,),
}
"""Operators that read NaN, and their further operands."""
_HALVES = ("Abs", "Add", "Max", "Min", "Mul", "Neg", "Relu", "Sub")
"""Operators whose results of float16 are rounded once."""


@step(weight=2)
def no_numbers(graph: Graph, value: Value) -> Value:
    """Turn some numbers into NaN, and let operators read them before they are quantized."""
    real = graph.real(value)
    if graph.chance(0.5):
        node = graph.node("Sqrt", [real])
    else:  # 0 / 0, and infinities
        zeros = graph.rng.choice(np.array([0.0, -0.0, 1.0], np.float32), value.shape[-1:])
        node = graph.node("Div", [real, graph.constant(zeros)])
    for _ in range(int(graph.choice(1, 1, 2))):
        op = str(graph.choice(*_READERS))
        others = [graph.constant(np.float32(each)) for each in _READERS[op]]
        node = graph.node(op, [node, *others])
    return _written(graph, node, graph.result(value.shape, value.scale**0.5))


@step()
def two_dtypes(graph: Graph, value: Value) -> Value:
    """Quantize to the other dtype of bytes, and back."""
    other = "int8" if graph.dtype == "uint8" else "uint8"
    scale, _ = graph.encoding(value.scale)
    point = 0 if other == "int8" else 128
    encoding = graph.encoded(scale, point, other)
    node = graph.node("QuantizeLinear", [graph.real(value), *encoding])
    node = graph.node("DequantizeLinear", [node, *encoding])
    return _written(graph, node, graph.result(value.shape, value.scale))


@step(weight=2)
def halves(graph: Graph, value: Value) -> Value:
    """Compute in float16 between quantized tensors."""
    node = graph.node("Cast", [graph.real(value)], to=onnx.TensorProto.FLOAT16)
    for _ in range(int(graph.choice(1, 1, 2))):
        op = str(graph.choice(*_HALVES))
        number = np.float16(graph.rng.normal(0, 2))
        others = [] if op in ("Abs", "Neg", "Relu") else [graph.constant(number)]
        node = graph.node(op, [node, *others])
    node = graph.node("Cast", [node], to=onnx.TensorProto.FLOAT)
    return _written(graph, node, graph.result(value.shape, value.scale))


@step(weight=3)
def blocks(graph: Graph, value: Value) -> Value | None:
    """Add a constant of bytes with a scale for each block of its last axis."""
    if graph.opset < OF_BLOCKS or not value.shape:
        return None
    size, dtype = int(graph.choice(16, 32)), str(graph.choice("int8", "uint8"))
    counts = (*value.shape[:-1], -(-value.shape[-1] // size))
    scales = graph.rng.uniform(0.5, 1.5, counts) * value.scale
    names = [graph.constant(full_range(graph.rng, dtype, value.shape))]
    names.append(graph.constant(scales.astype(np.float32)))
    if dtype == "uint8" or graph.chance(0.5):
        names.append(graph.constant(full_range(graph.rng, dtype, counts)))
    real = graph.node("DequantizeLinear", names, axis=-1, block_size=size)
    node = graph.node("Add", [graph.real(value), real])
    return _written(graph, node, graph.result(value.shape, value.scale * 2))


def _written(graph: Graph, node: str, result: Value) -> Value:
    return graph.add(graph.node("QuantizeLinear", [node, *result.encoding]), result)
