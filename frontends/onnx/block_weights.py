"""Weights of a few bits or of bytes, whose products ONNX Runtime computes by MatMulNBits.

MatMulNBits quantizes the data by block when it runs: its accuracy level is 4, and blocks have 32
values where the file states no size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.normalizations import operands_of
from frontends.onnx.package import onnx_package
from qnn_ops.blockwise_dense import integers_of

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups


Array = np.ndarray[Any, Any]

_BITS = (2, 4, 8)
_OF_TABLES = (4, 8)
_BYTE_BLOCK_WEIGHTS = 8
_INTEGERS = 4
"""The accuracy level at which data is quantized, too."""
_FLOATS = [0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4]
_NORMAL = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
_TABLES = [np.array(each, np.float32) for each in ([*_FLOATS, *(-n for n in _FLOATS)], _NORMAL)]
"""The sixteen numbers of MatMulBnb4, by ``quant_type``: small floats, and those that bitsandbytes
takes of a normal distribution.
"""
_LEAST_BLOCK_WEIGHTS = 16
"""The values of the smallest block."""
_SIZES_OF_INTEGERS = {2: range(32, 129)}
"""Those of blocks whose data is quantized, by the bits of weights, where not all are."""
_MOST_OF_DATA = 256
"""Those of the largest block of data: a larger one of weights has several."""
_MOST = {2: 256}
"""Those of the largest block that ONNX Runtime takes, by the bits of weights."""


def matmul_n_bits(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write MatMulNBits: a product of floats, or one of data that is quantized when it runs."""
    data, bytes_of, scale, points, order, bias = operands_of(inputs, 3, 6)
    units, depth, size = (int(attrs[name]) for name in ("N", "K", "block_size"))
    bits = _bits(attrs, size, _BITS)
    if order and not np.array_equal(groups.value(order), np.arange(depth) // size):
        raise UnsupportedError("columns in another order than that of blocks (g_idx)")
    blocks = -(-depth // size)
    scales = _sized(groups.value(scale), units * blocks, "scales", np.float32)
    values = _sized(
        groups.value(bytes_of), units * blocks * size * bits // _BYTE_BLOCK_WEIGHTS, "B", np.uint8
    )
    zeros, is_float = _points(groups, points, bits, (units, blocks))
    name = f"{groups.prefix}{node.output[0]}"
    result = f"{name}_product" if bias else node.output[0]
    is_integer = int(attrs.get("accuracy_level", 0)) == _INTEGERS and not is_float and not order
    is_integer = is_integer and size in _SIZES_OF_INTEGERS.get(bits, (size,))
    arrays = [values.reshape(units, -1), scales.reshape(units, blocks)]
    if points:
        arrays.append(zeros[..., 0].astype(np.float32))
    if is_integer and size > _MOST_OF_DATA:
        arrays = _split(arrays, bits, size, depth)
        size = _MOST_OF_DATA
    names = [groups.constant(array) for array in arrays]
    given = {"bits": bits, "block_size": size, "quantizes_data": int(is_integer)}
    groups.node("MatMulNBits", [data, *names], result, N=units, **given)
    if bias:
        groups.node("Add", [result, bias], node.output[0])


def matmul_bnb4(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write MatMulBnb4: a product of floats and of numbers that four bits choose from sixteen.

    A block of neighbours has one factor, and may go on in the next row of weights.
    """
    data, bytes_of, factor = operands_of(inputs, 3, 3)
    units, depth, size, kind = (int(attrs[name]) for name in ("N", "K", "block_size", "quant_type"))
    if kind not in range(len(_TABLES)) or not int(attrs.get("transB", 1)):
        raise UnsupportedError(f"quant_type {kind}, transB {attrs.get('transB', 1)}")
    if size < _LEAST_BLOCK_WEIGHTS or size & (size - 1):
        raise UnsupportedError(
            f"block_size is {size}, needs a power of two from {_LEAST_BLOCK_WEIGHTS} on"
        )
    count = units * depth
    given = _sized(groups.value(bytes_of), -(-count // 2), "B", np.uint8).reshape(-1)
    factors = _sized(groups.value(factor), -(-count // size), "absmax", np.float32).reshape(-1)
    places = np.stack([given >> 4, given & 15], 1).reshape(-1)[:count]
    real = _TABLES[kind][places] * np.repeat(factors, size)[:count]
    weights = np.ascontiguousarray(real.reshape(units, depth).T, np.float32)
    groups.node("MatMul", [data, groups.constant(weights)], node.output[0])


def gather_block_quantized(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write GatherBlockQuantized: rows of a table and of its scales, and their products."""
    data, places, scale, points = operands_of(inputs, 3, 4)
    array, scales = groups.value(data), groups.value(scale)
    size, bits = int(attrs.get("block_size", 128)), int(attrs.get("bits", 4))
    if array.dtype == np.uint8:
        array = integers_of(array, _bits({"bits": bits}, size, _OF_TABLES))
        middle = 1 << (bits - 1)
    elif array.dtype.name in ("int4", "uint4"):
        _bits({"bits": 4}, size, _OF_TABLES)
        array, middle = array.astype(np.int8), 0
    else:
        raise UnsupportedError(f"a table of {array.dtype.name} is not imported")
    axes = [int(attrs.get(name, axis)) for name, axis in (("gather_axis", 0), ("quantize_axis", 1))]
    if array.ndim != 2 or axes[0] not in (0, -2) or axes[1] not in (1, -1):
        raise UnsupportedError("rows of tables alone are imported, with blocks along them")
    rank = groups.rank(places)
    if not rank and places not in groups.ranks and places not in groups.constants:
        raise UnsupportedError("of the indices the rank must be known")
    rows, depth = array.shape
    blocks = -(-depth // size)
    factors = _sized(scales, rows * blocks, "scales", np.float32).reshape(rows, blocks, 1)
    whole = np.zeros((rows, blocks * size), array.dtype)
    whole[:, :depth] = array
    integers = whole.reshape(rows, blocks, size)
    zeros = np.full((rows, blocks, 1), middle, np.int16)
    if points:
        given = groups.value(points)
        wide = integers_of(given, bits) if given.dtype == np.uint8 else given.astype(np.int16)
        zeros = _sized(wide[..., :blocks], rows * blocks, "zero points").reshape(zeros.shape)
    table = integers
    if (
        is_narrow := bits < _BYTE_BLOCK_WEIGHTS or not points
    ):  # other differences do not fit into bytes
        table = (integers.astype(np.int16) - zeros.astype(np.int16)).astype(np.int8)
    name, real = f"{groups.prefix}{node.output[0]}", onnx_package().TensorProto.FLOAT
    values = groups.node("Gather", [groups.constant(table), places], f"{name}_bytes", axis=0)
    values = groups.node("Cast", [values], f"{name}_values", to=real)
    if not is_narrow:
        own = groups.constant(zeros.astype(np.float32))
        own = groups.node("Gather", [own, places], f"{name}_points", axis=0)
        values = groups.node("Sub", [values, own], f"{name}_steps")
    scaled = groups.node("Gather", [groups.constant(factors), places], f"{name}_scales", axis=0)
    products = groups.node("Mul", [values, scaled], f"{name}_products")
    shape = groups.constant(np.array([0] * rank + [-1], np.int64))
    is_cut = blocks * size > depth
    row = f"{name}_rows" if is_cut else node.output[0]
    groups.node("Reshape", [products, shape], row)
    if is_cut:
        bounds = [groups.constant(np.array([number], np.int64)) for number in (0, depth, rank)]
        groups.node("Slice", [row, *bounds], node.output[0])
    groups.ranks = {**groups.ranks, node.output[0]: rank + 1}


def _split(arrays: list[Array], bits: int, size: int, depth: int) -> list[Array]:
    """Return weights, scales and zero points of blocks that are no larger than those of data."""
    values, *numbers = arrays
    blocks = -(-depth // _MOST_OF_DATA)
    cut = [np.repeat(each, size // _MOST_OF_DATA, 1)[:, :blocks] for each in numbers]
    return [values[:, : blocks * _MOST_OF_DATA * bits // _BYTE_BLOCK_WEIGHTS], *cut]


def _bits(attrs: dict[str, Any], size: int, known: tuple[int, ...]) -> int:
    bits = int(attrs.get("bits", 4))
    if bits not in known:
        raise UnsupportedError(f"weights of {bits} bits are not imported")
    if size < _LEAST_BLOCK_WEIGHTS or size & (size - 1):
        raise UnsupportedError(
            f"block_size is {size}, needs a power of two from {_LEAST_BLOCK_WEIGHTS} on"
        )
    if size > _MOST.get(bits, size):
        raise UnsupportedError(f"block_size is {size}, weights of {bits} bits have {_MOST[bits]}")
    return bits


def _points(groups: Groups, points: str, bits: int, shape: tuple[int, int]) -> tuple[Array, bool]:
    """Return zero points, [units, blocks, 1], and whether they are floats."""
    units, blocks = shape
    if not points:
        return np.full((*shape, 1), 1 << (bits - 1)), False
    array = groups.value(points)
    if array.dtype == np.float32:
        if bits == _BYTE_BLOCK_WEIGHTS:
            raise UnsupportedError("weights of 8 bits with zero points of float32")
        return _sized(array, units * blocks, "zero points").reshape(units, blocks, 1), True
    in_row = -(-blocks * bits // _BYTE_BLOCK_WEIGHTS)
    given = _sized(array, units * in_row, "zero points", np.uint8).reshape(units, in_row)
    return integers_of(given, bits)[:, :blocks, np.newaxis], False


def _sized(array: Array, count: int, name: str, dtype: Any = None) -> Array:
    """Return an array, after a check.

    Raises:
        UnsupportedError: it has another number of values, or another dtype.
    """
    if dtype is np.float32 and array.dtype == np.float16:  # of a model that is described alone
        array = array.astype(np.float32)
    if dtype is not None and array.dtype != dtype:
        raise UnsupportedError(f"{name} are {array.dtype.name}, need {np.dtype(dtype).name}")
    if array.size != count:
        raise UnsupportedError(f"{name} are {array.size}, need {count}")
    return array


_BITS_OF_DTYPE = {"int4": 4, "int8": 8, "uint4": 4, "uint8": 8}
"""By the dtype of weights."""
_MOVING = ("MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
"""Operators over which ONNX Runtime moves a DequantizeLinear before."""
_PASSING = ("Clip", "Relu", *_MOVING)
"""Those over which it sees a QuantizeLinear behind."""
_BYTE_WEIGHT_PRODUCTS, _PRODUCT, _SIZE, _LEAST_WEIGHT_PRODUCTS, _LEVEL = 8, 2, 32, 16, 4
_STANDARD = ("", "ai.onnx")
_REAL = (np.float16, np.float32)
"""Dtypes of scales; data of float16 is widened."""


def with_weight_products(
    nodes: list[Any],
    constants: Mapping[str, Array],
    kept: Iterable[str],
    attributes_of: Any,
    prefix: str,
) -> tuple[list[Any], dict[str, Array]]:
    """Write MatMul and Gemm of float data and dequantized weights as MatMulNBits.

    Their data is not bytes that are dequantized, their result is not quantized to bytes, and
    nothing else reads the weights.

    Args:
        nodes: of a model.
        constants: of it, by name.
        kept: the names of its outputs, each a use more.
        attributes_of: gives a node's attributes.
        prefix: of names that no tensor has.

    Returns:
        The nodes, and constants that are new.
    """
    uses = Counter(kept)
    uses.update(name for node in nodes for name in node.input)
    made = {name: node for node in nodes for name in node.output}
    readers: dict[str, list[Any]] = {}
    for node in nodes:
        for name in set(node.input):
            readers.setdefault(name, []).append(node)
    added: dict[str, Array] = {}
    dropped: set[str] = set()

    def product(node: Any) -> Any:
        if not _is_product(node, attributes_of) or _is_of_bytes(node.input[0], made, constants):
            return node
        if _becomes_bytes(node.output[0], readers, constants):
            return node
        source = made.get(node.input[1])
        if source is None or source.op_type != "DequantizeLinear" or uses[node.input[1]] != 1:
            return node
        weights = _weights(source, constants, attributes_of)
        if weights is None or not _fits(node, made, constants, weights):
            return node
        stem = f"{prefix}{node.output[0]}"
        names = [f"{stem}_{part}" for part in ("weights", "scales", "points")]
        added.update(zip(names, weights.packed(), strict=True))
        dropped.add(node.input[1])
        return onnx_package().helper.make_node(
            "MatMulNBits",
            [node.input[0], *names, *(["", *node.input[_PRODUCT:]] if node.input[2:] else [])],
            list(node.output),
            domain="com.microsoft",
            accuracy_level=_LEVEL,
            bits=weights.bits,
            block_size=weights.size,
            K=weights.array.shape[0],
            N=weights.array.shape[1],
        )

    written = [product(node) for node in nodes]
    return [node for node in written if not dropped & {*node.output}], added


class _Weights:
    """Weights of a few bits, with a scale and a zero point for each block of a column.

    Attributes:
        array: integers that are not negative, uint8 [depth, units].
        scales: float32 [blocks, units].
        points: likewise, uint8.
        bits: of an integer.
        size: of a block.
    """

    def __init__(self, array: Array, scales: Array, points: Array | None, size: int) -> None:
        self.bits, self.size = _BITS_OF_DTYPE[array.dtype.name], size
        middle = 0 if array.dtype.name.startswith("u") else 1 << (self.bits - 1)
        shape = -(-array.shape[0] // size), array.shape[1]
        self.array = (array.astype(np.int16) + middle).astype(np.uint8)
        self.scales = np.broadcast_to(scales, shape)
        own = 0 if points is None else points.astype(np.int16)
        self.points = np.broadcast_to(np.asarray(own + middle, np.uint8), shape)

    def packed(self) -> tuple[Array, Array, Array]:
        """Return integers, scales and zero points as MatMulNBits has them, column by column."""
        blocks, units = self.scales.shape
        whole = np.zeros((units, blocks * self.size), np.uint8)
        whole[:, : self.array.shape[0]] = self.array.T
        integers = _packed(whole, self.bits).reshape(units, blocks, -1)
        scales = np.ascontiguousarray(self.scales.T, np.float32).reshape(-1)
        return integers, scales, _packed(np.ascontiguousarray(self.points.T), self.bits).reshape(-1)


def _packed(rows: Array, bits: int) -> Array:
    """Return rows of integers as bytes, the first of two in the lower half."""
    if bits == _BYTE_WEIGHT_PRODUCTS:
        return rows
    even = np.zeros((rows.shape[0], rows.shape[1] + rows.shape[1] % 2), np.uint8)
    even[:, : rows.shape[1]] = rows
    return even[:, ::2] | (even[:, 1::2] << bits)


def _is_product(node: Any, attributes_of: Any) -> bool:
    if node.domain not in _STANDARD or len(node.input) < _PRODUCT or not node.input[1]:
        return False
    if node.op_type == "MatMul":
        return True
    given = attributes_of(node) if node.op_type == "Gemm" else {"transA": 1}
    is_turned = given.get("transA", 0) or given.get("transB", 0)
    beta = given.get("beta", 1.0) if any(node.input[_PRODUCT:]) else 1
    return not is_turned and given.get("alpha", 1.0) == beta == 1


def _is_of_bytes(name: str, made: Mapping[str, Any], constants: Mapping[str, Array]) -> bool:
    """Tell whether a tensor is one of bytes that are dequantized, perhaps moved about."""
    while (node := made.get(name)) is not None and node.op_type in _MOVING:
        name = node.input[0]
    if node is None or node.op_type != "DequantizeLinear":
        return False
    point = constants.get((*node.input, "", "")[2])
    data = made.get(node.input[0])
    if point is None and data is not None and data.op_type == "QuantizeLinear":
        point = constants.get((*data.input, "", "")[2])
    return point is None or point.dtype.itemsize == 1


def _becomes_bytes(
    name: str, readers: Mapping[str, list[Any]], constants: Mapping[str, Array]
) -> bool:
    """Tell whether a tensor is quantized to bytes, perhaps moved about or bounded before."""
    for node in readers.get(name, []):
        if node.op_type == "QuantizeLinear":
            point = constants.get((*node.input, "", "")[2])
            if point is None or point.dtype.itemsize == 1:
                return True
        is_passed = node.op_type in _PASSING and node.input[0] == name
        if is_passed and _becomes_bytes(node.output[0], readers, constants):
            return True
    return False


def _weights(source: Any, constants: Mapping[str, Array], attributes_of: Any) -> _Weights | None:
    """Return what a DequantizeLinear reads, if its encoding is one of ONNX Runtime's rule."""
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
    return _Weights(array, scale, points[0] if points else None, size or _SIZE) if fits else None


def _fits(
    node: Any, made: Mapping[str, Any], constants: Mapping[str, Array], weights: _Weights
) -> bool:
    """Tell whether a bias is one of the columns, if there is one."""
    bias = (*node.input, "")[_PRODUCT]
    if not bias:
        return True
    source = made.get(bias)
    if source is not None and source.op_type == "DequantizeLinear":
        bias = source.input[0]
    array = constants.get(bias)
    return array is not None and array.shape == (weights.array.shape[1],)
