"""Products and rows of weights of 2, 4 or 8 bits, with a scale for each block."""

from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import Array
from frontends.onnx.read.standard import FLOAT
from frontends.onnx.replacements.registry import Call, rule
from qnn_ops.quantized.blockwise_dense import integers_of

_BITS = (2, 4, 8)
_OF_TABLES = (4, 8)
_BYTE_BLOCK_WEIGHTS = 8
_INTEGERS = 4
"""The accuracy level at which data is also quantized."""
_FLOATS = [0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4]
_NORMAL = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
_TABLES = [np.array(each, np.float32) for each in ([*_FLOATS, *(-n for n in _FLOATS)], _NORMAL)]
"""The sixteen numbers of MatMulBnb4, by ``quant_type``: small floats, and bitsandbytes' quantiles
of a normal distribution.
"""
_LEAST_BLOCK_WEIGHTS = 16
"""The number of values in the smallest block."""
_SIZES_OF_INTEGERS = {2: range(32, 129)}
"""By the bits of weights, the block sizes with quantized data, if not all sizes have it."""
_MOST_OF_DATA = 256
"""The number of values in the largest block of data: a larger block of weights spans several."""
_MOST = {2: 256}
"""The number of values in the largest block that ONNX Runtime accepts, by the bits of weights."""


@rule("MatMulNBits")
def _matmul_n_bits(call: Call) -> None:
    """Write MatMulNBits: a product of floats, or of data that is quantized when it runs."""
    graph, (data, bytes_of, scale, points, order, bias) = call.graph, call.operands(3, 6)
    units, depth, size = (call.integer(name) for name in ("N", "K", "block_size"))
    bits = _checked_bits(call.integer("bits", 4), size, _BITS)
    if order and not np.array_equal(graph.value(order), np.arange(depth) // size):
        raise UnsupportedError("columns in another order than that of blocks (g_idx)")
    blocks = -(-depth // size)
    scales = _sized(graph.value(scale), units * blocks, "scales", np.float32)
    values = _sized(
        graph.value(bytes_of), units * blocks * size * bits // _BYTE_BLOCK_WEIGHTS, "B", np.uint8
    )
    zeros, is_float = _points(graph, points, bits, (units, blocks))
    is_integer = call.integer("accuracy_level") == _INTEGERS and not is_float and not order
    is_integer = is_integer and size in _SIZES_OF_INTEGERS.get(bits, (size,))
    arrays = [values.reshape(units, -1), scales.reshape(units, blocks)]
    if points:
        arrays.append(zeros[..., 0].astype(np.float32))
    if is_integer and size > _MOST_OF_DATA:
        arrays = _split(arrays, bits, size, depth)
        size = _MOST_OF_DATA
    output = "" if bias else call.node.output[0]
    given = {"bits": bits, "block_size": size, "quantizes_data": int(is_integer)}
    result = graph.add("MatMulNBits", data, *arrays, output=output, N=units, **given)
    if bias:
        call.end("Add", result, bias)


@rule("MatMulBnb4")
def _matmul_bnb4(call: Call) -> None:
    """Write MatMulBnb4: a product of floats and weights; a weight's four bits choose a number.

    A block of neighbours has one factor, and may continue in the next row of weights.
    """
    graph, (data, bytes_of, factor) = call.graph, call.operands(3, 3)
    units, depth, size = (call.integer(name) for name in ("N", "K", "block_size"))
    kind = call.integer("quant_type", -1)
    if kind not in range(len(_TABLES)) or not call.integer("transB", 1):
        raise UnsupportedError(f"quant_type {kind}, transB {call.integer('transB', 1)}")
    _check_block(size)
    count = units * depth
    given = _sized(graph.value(bytes_of), -(-count // 2), "B", np.uint8).reshape(-1)
    factors = _sized(graph.value(factor), -(-count // size), "absmax", np.float32).reshape(-1)
    indices = np.stack([given >> 4, given & 15], 1).reshape(-1)[:count]
    real = _TABLES[kind][indices] * np.repeat(factors, size)[:count]
    weights = np.ascontiguousarray(real.reshape(units, depth).T, np.float32)
    call.end("MatMul", data, weights)


@rule("GatherBlockQuantized")
def _gather_block_quantized(call: Call) -> None:
    """Write GatherBlockQuantized: rows of a table times rows of its scales."""
    graph, (data, indices, scale, points) = call.graph, call.operands(3, 4)
    array, scales = graph.value(data), graph.value(scale)
    size, bits = call.integer("block_size", 128), call.integer("bits", 4)
    if array.dtype == np.uint8:
        array = integers_of(array, _checked_bits(bits, size, _OF_TABLES))
        middle = 1 << (bits - 1)
    elif array.dtype.name in ("int4", "uint4"):
        _check_block(size)
        array, middle = array.astype(np.int8), 0
    else:
        raise UnsupportedError(f"a table of {array.dtype.name} is not imported")
    axes = [call.integer("gather_axis"), call.integer("quantize_axis", 1)]
    if array.ndim != 2 or axes[0] not in (0, -2) or axes[1] not in (1, -1):
        raise UnsupportedError("rows of tables alone are imported, with blocks along them")
    rank = graph.rank(indices)
    if not rank and indices not in graph.ranks and indices not in graph.constants:
        raise UnsupportedError("of the indices the rank must be known")
    rows, depth = array.shape
    blocks = -(-depth // size)
    factors = _sized(scales, rows * blocks, "scales", np.float32).reshape(rows, blocks, 1)
    whole = np.zeros((rows, blocks * size), array.dtype)
    whole[:, :depth] = array
    integers = whole.reshape(rows, blocks, size)
    zeros = np.full((rows, blocks, 1), middle, np.int16)
    if points:
        given = graph.value(points)
        wide = integers_of(given, bits) if given.dtype == np.uint8 else given.astype(np.int16)
        zeros = _sized(wide[..., :blocks], rows * blocks, "zero points").reshape(zeros.shape)
    table, is_narrow = integers, bits < _BYTE_BLOCK_WEIGHTS or not points
    if is_narrow:  # differences of wider integers do not fit into bytes
        table = (integers.astype(np.int16) - zeros.astype(np.int16)).astype(np.int8)

    def rows_of(array: Array, name: str) -> str:
        return graph.add("Gather", array, indices, output=graph.part(name), axis=0)

    values = graph.add("Cast", rows_of(table, "bytes"), to=FLOAT)
    if not is_narrow:
        own = rows_of(zeros.astype(np.float32), "points")
        values = graph.add("Sub", values, own)
    products = graph.add("Mul", values, rows_of(factors, "scales"))
    is_cut = blocks * size > depth
    output = call.node.output[0]
    row = graph.add("Reshape", products, [0] * rank + [-1], output="" if is_cut else output)
    if is_cut:
        call.end("Slice", row, [0], [depth], [rank])
    graph.ranks = {**graph.ranks, output: rank + 1}


def _split(arrays: list[Array], bits: int, size: int, depth: int) -> list[Array]:
    """Return weights, scales and zero points, split into blocks no larger than those of data."""
    values, *numbers = arrays
    blocks = -(-depth // _MOST_OF_DATA)
    cut = [np.repeat(each, size // _MOST_OF_DATA, 1)[:, :blocks] for each in numbers]
    return [values[:, : blocks * _MOST_OF_DATA * bits // _BYTE_BLOCK_WEIGHTS], *cut]


def _check_block(size: int) -> None:
    """Refuse a size of blocks that ONNX Runtime refuses, too."""
    if size < _LEAST_BLOCK_WEIGHTS or size & (size - 1):
        raise UnsupportedError(
            f"block_size is {size}, needs a power of two from {_LEAST_BLOCK_WEIGHTS} on"
        )


def _checked_bits(bits: int, size: int, known: tuple[int, ...]) -> int:
    if bits not in known:
        raise UnsupportedError(f"weights of {bits} bits are not imported")
    _check_block(size)
    if size > _MOST.get(bits, size):
        raise UnsupportedError(f"block_size is {size}, weights of {bits} bits have {_MOST[bits]}")
    return bits


def _points(graph: Graph, points: str, bits: int, shape: tuple[int, int]) -> tuple[Array, bool]:
    """Return zero points, [units, blocks, 1], and whether they are floats."""
    units, blocks = shape
    if not points:
        return np.full((*shape, 1), 1 << (bits - 1)), False
    array = graph.value(points)
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
    if dtype is np.float32 and array.dtype == np.float16:  # a model that is only described
        array = array.astype(np.float32)
    if dtype is not None and array.dtype != dtype:
        raise UnsupportedError(f"{name} are {array.dtype.name}, need {np.dtype(dtype).name}")
    if array.size != count:
        raise UnsupportedError(f"{name} are {array.size}, need {count}")
    return array
