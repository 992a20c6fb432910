"""Constants of quantized layers: weights, biases, scales, and integers of a few bits.

Constants of four bits, with scales by block, or with float16 scales are dequantized at import: all
operators read real numbers.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import Array
from frontends.onnx.read.names import attributes_of, is_of_standard
from qnn_ops.arithmetic.onnxruntime import bias_steps

_DTYPES = ("int4", "uint4")
_LEAST = 2
"""The fewest operands: data and scale."""


def decode_few_bits(graph: Graph, node: Any) -> bool:
    """Compute a DequantizeLinear of a constant that ONNX Runtime never puts into a group.

    The real numbers have the dtype of the scales.
    """
    names = [name for name in node.input if name]
    is_ready = len(names) >= _LEAST and all(name in graph.constants for name in names)
    if not is_ready or node.op_type != "DequantizeLinear" or node.output[0] in graph.kept:
        return False
    known = [graph.constants[name] for name in names]
    given, is_half = attributes_of(node), known[1].dtype == np.float16
    if not (known[0].dtype.name in _DTYPES or given.get("block_size", 0) or is_half):
        return False
    if (real := _real(known, given)) is None:
        return False
    graph.constant(real, node.output[0])
    return True


def _real(known: list[Any], attributes: Mapping[str, Any]) -> Array | None:
    """Return the real numbers in the scales' dtype; None if the scales do not fit."""
    array, scale, *points = known
    axis, size = int(attributes.get("axis", 1)), int(attributes.get("block_size", 0))
    if scale.dtype not in (np.float16, np.float32) or (
        scale.size > 1 and not -array.ndim <= axis < array.ndim
    ):
        return None
    parts = [each.astype(np.float32) for each in (scale, *points)]
    if size:
        parts = [np.repeat(each, size, axis) for each in parts]
        ends = [slice(None)] * array.ndim
        ends[axis] = slice(array.shape[axis])
        parts = [each[tuple(ends)] for each in parts]
    else:
        parts = [_beside(each, array, axis) for each in parts]
    steps = array.astype(np.float32)
    try:
        for point in parts[1:]:
            steps = steps - point
        real = steps * parts[0]
    except ValueError:  # their sizes do not fit
        return None
    return np.asarray(real, scale.dtype) if real.shape == array.shape else None


_OF_BIAS = 3
"""The number of operands of an operator with a bias."""


def replace_zero_scales(graph: Graph) -> None:
    """Replace scales of 0, as of switched-off channels, and the integers of these channels.

    The new integers stand for 0, as before. The scale of a bias stays the product of the data's
    scale and the weights' scale.
    """
    made = {node.output[0]: node for node in graph.node if node.op_type == "DequantizeLinear"}
    constants, found = graph.constants, dict[str, Array]()
    for name, node in made.items():
        names = [each for each in node.input if each]
        if len(names) < _LEAST or any(each not in constants for each in names):
            continue
        array, scales, *points = known = [constants[each] for each in names]
        if scales.dtype != np.float32 or scales.ndim > 1 or scales.all():
            continue
        found[name] = scales
        kept = scales[scales > 0]
        given = np.where(scales > 0, scales, kept.min() if kept.size else np.float32(1))
        axis = int(attributes_of(node).get("axis", 1))
        is_zero, zero = (
            _beside(scales == 0, array, axis),
            _beside(points[0] if points else np.zeros((), array.dtype), array, axis),
        )
        for index, each in enumerate((np.where(is_zero, zero, array), given)):
            node.input[index] = graph.constant(each.astype(known[index].dtype))
    for node in graph.node:
        if len(node.input) != _OF_BIAS or node.input[2] not in found:
            continue
        data, weights, bias = node.input
        if data not in made or weights not in found:
            continue
        step, scales = constants.get(made[data].input[1]), constants[made[weights].input[1]]
        shape = found[bias].shape
        if step is not None and step.size == 1 and scales.shape == shape:
            product = np.asarray(step.reshape(()) * scales, np.float32)
            made[bias].input[1] = graph.constant(product)


def _beside(values: Array, array: Array, axis: int) -> Array:
    """Return values per channel in a shape that broadcasts to an array's."""
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if each == axis % array.ndim else 1 for each in range(array.ndim)])


_UNIT_AXIS = {"Conv": 0, "ConvTranspose": 1, "Gemm": 1}
"""By operator, the axis that the scales of its weights must have."""
_PASSED = ("Clip", "Relu")
_REAL = (np.float16, np.float32)
_SEVERAL = 2


def quantize_parameters(graph: Graph, node: Any) -> bool:
    """Quantize float weights and biases of a quantized layer: write a DequantizeLinear of integers.

    In a quantized layer the data is dequantized, and the result is quantized, perhaps after a Relu
    or Clip. This includes layers that stay in float.
    """
    if not is_of_standard(node, *_UNIT_AXIS) or len(node.input) < _SEVERAL:
        return False
    data, weights, bias = (*node.input, "")[:3]
    step, reals = _scale(graph, data), graph.constants.get(bias)
    has_bias = reals is not None and reals.ndim == 1 and reals.dtype in _REAL
    if step is None or step.size != 1 or (bias and not has_bias) or not _is_quantized(graph, node):
        return False
    scales = _scale(graph, weights)
    if scales is None:
        array = graph.constants.get(weights)
        if weights in graph.made or array is None or array.dtype != np.float32:
            return False
        node.input[1], scales = _quantized(graph, array)
    elif not has_bias or not _fits(graph, node, scales, reals):
        return False
    if reals is not None and has_bias:
        steps = np.asarray(step.reshape(()).astype(np.float32) * scales, np.float32)
        if reals.dtype == np.float16:  # the quotient is rounded to float16 first
            ratios = (reals / steps).astype(np.float16).astype(np.float32)
            integers = bias_steps(ratios, np.ones_like(steps))
        else:
            integers = bias_steps(reals, steps)
        axis: dict[str, Any] = {"axis": 0} if steps.size > 1 else {}
        steps = steps.reshape(-1 if axis else ())
        node.input[2] = graph.add("DequantizeLinear", integers, steps, **axis)
    return False


def _is_quantized(graph: Graph, node: Any) -> bool:
    """Tell whether the only reader of a result, or of its activation, quantizes it."""
    while len(readers := graph.readers.get(node.output[0], [])) == 1:
        (node,) = readers
        if node.op_type == "QuantizeLinear":
            return True
        if node.op_type not in _PASSED or len(node.output) != 1:
            return False
    return False


def _scale(graph: Graph, name: str) -> Array | None:
    """Return the scale that a tensor is dequantized with, if it is a constant."""
    source = graph.maker(name, "DequantizeLinear")
    scale = None if source is None else graph.encoding(source)[0]
    return scale if scale is not None and scale.dtype in _REAL else None


def _fits(graph: Graph, node: Any, scales: Array, bias: Array | None) -> bool:
    if scales.size == 1:
        return True
    source = graph.made[node.input[1]]
    attributes, array = attributes_of(source), graph.constants.get(source.input[0])
    if attributes.get("block_size", 0) or bias is None or scales.shape != bias.shape:
        return False
    wanted = _UNIT_AXIS[node.op_type]
    if node.op_type == "Gemm" and attributes_of(node).get("transB", 0):
        wanted = 0
    return array is not None and int(attributes.get("axis", 1)) % array.ndim == wanted


def _quantized(graph: Graph, array: Array) -> tuple[str, Array]:
    """Quantize weights to int8, from their lowest value to their highest."""
    low, high = (min(array.min(), np.float32(0)), max(array.max(), np.float32(0)))
    scale = np.float32(1) if low == high else np.float32((high - low) / np.float32(255))
    point = np.rint(np.clip(np.float32(-128) - np.float32(low / scale), -128, 127))
    steps = np.clip(np.rint(array / scale) + point, -128, 127).astype(np.int8)
    return graph.add("DequantizeLinear", steps, scale, np.int8(point)), np.asarray(scale)
