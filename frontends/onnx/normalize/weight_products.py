"""Products that ONNX Runtime computes by its own operators, MatMulNBits and QGemm.

MatMulNBits takes weights of 4 or 8 bits, QGemm two quantized matrices. MatMulNBits quantizes the
data by block when it runs: its accuracy level is 4. Blocks have 32 values unless the file states a
size.
"""

from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Constants, Graph
from frontends.onnx.normalize.identities import is_clip_before_quantize
from frontends.onnx.read.constants import Array
from frontends.onnx.read.names import attributes_of, is_of_standard
from frontends.onnx.read.standard import DOMAINS
from qnn_ops.quantized.blockwise_dense import packed

_BITS_OF_DTYPE = {"int4": 4, "int8": 8, "uint4": 4, "uint8": 8}
"""Bits by the dtype of weights."""
_MOVING = ("MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
"""Operators over which ONNX Runtime moves a DequantizeLinear before them."""
_PASSING = ("Clip", "Relu", *_MOVING)
"""Operators behind which ONNX Runtime sees a QuantizeLinear."""
_PRODUCT, _SIZE, _LEAST_WEIGHT_PRODUCTS, _LEVEL = 2, 32, 16, 4
_REAL = (np.float16, np.float32)
"""Dtypes of scales; data of float16 is widened."""


def weight_product(graph: Graph, node: Any) -> bool:
    """Write a MatMul or Gemm of float data and dequantized weights as MatMulNBits.

    The data is not dequantized from bytes, the result is not quantized to bytes, and nothing else
    reads the weights.
    """
    if not _is_product(node) or _is_of_bytes(graph, node.input[0]):
        return False
    source = graph.maker(node.input[1], "DequantizeLinear")
    if source is None or graph.uses[node.input[1]] != 1:
        return False
    weights = None if _becomes_bytes(graph, node.output[0]) else _weights(source, graph.constants)
    if weights is None or not _fits(graph, node, weights):
        return False
    array, *_, size = weights
    graph.dropped.add(node.input[1])
    graph.add(
        "MatMulNBits",
        node.input[0],
        *_operands(*weights),
        *(["", *node.input[_PRODUCT:]] if node.input[2:] else []),
        output=list(node.output),
        domain="com.microsoft",
        accuracy_level=_LEVEL,
        bits=_BITS_OF_DTYPE[array.dtype.name],
        block_size=size,
        K=array.shape[0],
        N=array.shape[1],
    )
    return True


_Weights = tuple[Array, Array, Array | None, int]
"""Integers, [depth, units]; scales and zero points, one or [units] or [blocks, units]; and the size
of a block."""


def _operands(
    array: Array, scales: Array, points: Array | None, size: int
) -> tuple[Array, Array, Array]:
    """Return integers, scales and zero points in MatMulNBits' layout, column by column."""
    bits, (depth, units) = _BITS_OF_DTYPE[array.dtype.name], array.shape
    middle = 0 if array.dtype.name.startswith("u") else 1 << (bits - 1)
    blocks = -(-depth // size)
    whole = np.zeros((units, blocks * size), np.uint8)
    whole[:, :depth] = (array.astype(np.int16) + middle).T
    own = np.asarray((0 if points is None else points.astype(np.int16)) + middle, np.uint8)
    numbers, offsets = (
        np.ascontiguousarray(np.broadcast_to(each, (blocks, units)).T) for each in (scales, own)
    )
    integers = packed(whole, bits).reshape(units, blocks, -1)
    return integers, numbers.astype(np.float32).reshape(-1), packed(offsets, bits).reshape(-1)


def _is_product(node: Any) -> bool:
    if node.domain not in DOMAINS or len(node.input) < _PRODUCT or not node.input[1]:
        return False
    if node.op_type == "MatMul":
        return True
    given = attributes_of(node) if node.op_type == "Gemm" else {"transA": 1}
    is_turned = given.get("transA", 0) or given.get("transB", 0)
    beta = given.get("beta", 1.0) if any(node.input[_PRODUCT:]) else 1
    return not is_turned and given.get("alpha", 1.0) == beta == 1


def _is_of_bytes(graph: Graph, name: str) -> bool:
    """Tell whether a tensor was dequantized from bytes, perhaps with moves behind."""
    while (move := graph.maker(name, *_MOVING)) is not None:
        name = move.input[0]
    if (node := graph.maker(name, "DequantizeLinear")) is None:
        return False
    point, data = graph.encoding(node)[1], graph.maker(node.input[0], "QuantizeLinear")
    if point is None and data is not None:
        point = graph.encoding(data)[1]
    return point is None or point.dtype.itemsize == 1


def _becomes_bytes(graph: Graph, name: str) -> bool:
    """Tell whether a tensor is quantized to bytes, perhaps after moves or clips."""
    for node in graph.readers.get(name, []):
        if node.op_type == "QuantizeLinear":
            point = graph.encoding(node)[1]
            if point is None or point.dtype.itemsize == 1:
                return True
        is_passed = node.op_type in _PASSING and node.input[0] == name
        if is_passed and _becomes_bytes(graph, node.output[0]):
            return True
    return False


def _weights(source: Any, constants: Constants) -> _Weights | None:
    """Return the weights of a DequantizeLinear, if ONNX Runtime's rule takes its encoding."""
    names = [name for name in source.input if name]
    if len(names) < _PRODUCT or any(name not in constants for name in names):
        return None
    array, scale, *points = (constants[name] for name in names)
    if array.ndim != _PRODUCT or array.dtype.name not in _BITS_OF_DTYPE or scale.dtype not in _REAL:
        return None
    if points and points[0].shape != scale.shape:
        return None
    given = attributes_of(source)
    axis, size = int(given.get("axis", 1)), int(given.get("block_size", 0))
    depth, units = array.shape
    if size:
        is_block = size >= _LEAST_WEIGHT_PRODUCTS and not size & (size - 1) and axis == 0
        fits = is_block and scale.shape == (-(-depth // size), units)
    else:
        fits = scale.shape == () or (scale.shape == (units,) and axis == 1)
    return (array, scale, points[0] if points else None, size or _SIZE) if fits else None


def _fits(graph: Graph, node: Any, weights: _Weights) -> bool:
    """Tell whether the bias, if there is one, has one number per column."""
    bias = (*node.input, "")[_PRODUCT]
    if not bias:
        return True
    if (source := graph.maker(bias, "DequantizeLinear")) is not None:
        bias = source.input[0]
    array = graph.constants.get(bias)
    return array is not None and array.shape == weights[0].shape[1:]


def scale_gemm_data(graph: Graph, node: Any) -> bool:
    """Multiply the data's scale by the ``alpha`` of a Gemm without a bias, as QGemm does.

    ONNX Runtime computes a Gemm with a bias in float.
    """
    if not is_of_standard(node, "Gemm") or any(node.input[2:]):
        return False
    source = graph.maker(node.input[0], "DequantizeLinear")
    alpha = np.float32(attributes_of(node).get("alpha", 1.0))
    if alpha != 1 and source is not None and _has_bytes(*graph.encoding(source)):
        scale = np.asarray(alpha * graph.constants[source.input[1]], np.float32)
        operands = source.input[0], scale, source.input[2]
        node.input[0] = graph.add("DequantizeLinear", *operands)
        _without(node, "alpha")
    _without(node, "beta")
    return False


def _has_bytes(scale: Array | None, point: Array | None) -> bool:
    if scale is None or point is None or scale.size != 1:
        return False
    return point.dtype.itemsize == 1 and scale.dtype == np.float32


def _without(node: Any, name: str) -> None:
    """Remove an attribute."""
    for each in [each for each in node.attribute if each.name == name]:
        node.attribute.remove(each)


_DATA = {"int8": ("int8",), "uint8": ("int8", "uint8")}
"""By the dtype of data, the dtypes of weights."""


def float_product(graph: Graph, node: Any) -> bool:
    """Write a product as QGemm if nothing quantizes its result, as ONNX Runtime does."""
    if not is_of_standard(node, "Gemm", "MatMul"):
        return False
    later = {each.op_type for each in graph.readers.get(node.output[0], ())}
    if "QuantizeLinear" in later or (node.op_type == "MatMul" and "Add" in later):
        return False
    if is_clip_before_quantize(graph, node.output[0]):
        return False
    sources = [graph.maker(name, "DequantizeLinear") for name in node.input if name]
    if any(each is None or len(each.input) < 2 for each in sources):  # or of an unchecked domain
        return False
    attributes = attributes_of(node)
    if any(attributes.get(name, 1.0) != 1 for name in ("alpha", "beta")):
        return False
    turned = {name: int(attributes.get(name, 0)) for name in ("transA", "transB")}
    operands = _gemm_operands(graph, sources, 0 if turned["transB"] else 1)
    if operands is None:
        return False
    graph.add("QGemm", *operands, output=node.output[0], domain="com.microsoft", **turned)
    return True


def _gemm_operands(graph: Graph, sources: list[Any], units_axis: int) -> list[str] | None:
    """Return the operands of a QGemm; None if QGemm does not take them."""
    constants = graph.constants
    data, weights, *bias = sources
    scale, point = graph.encoding(data)
    steps, other = graph.encoding(weights)
    array = constants.get(weights.input[0])
    if scale is None or point is None or steps is None or other is None or array is None:
        return None
    if array.ndim != 2 or scale.size != 1:
        return None
    if array.dtype.name not in _DATA.get(point.dtype.name, ()):
        return None
    axis = int(attributes_of(weights).get("axis", 1)) % 2
    if steps.size != 1 and (axis != units_axis or steps.size != array.shape[units_axis]):
        return None
    operands = [*data.input, *weights.input]
    if bias:
        values = constants.get(bias[0].input[0])
        if values is None or values.dtype != np.int32:
            return None
        operands.append(bias[0].input[0])
    return operands
