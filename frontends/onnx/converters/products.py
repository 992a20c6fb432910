"""MatMulInteger and MatMulNBits: products of quantized matrices; and determinants."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.onnx.converters.quantization import quantized
from frontends.onnx.converters.registry import Array, Call, converter, formula
from frontends.onnx.converters.windows.convolutions import data_point, weight_points
from qnn_ops import blockwise_dense, quantized_dense
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.registry import as_const, constant_of, spec_of


@converter("MatMulInteger")
def _matmul_integer(
    call: Call, data: relax.Expr, weights: relax.Expr, own_point: Any, other_point: Any
) -> relax.Expr:
    """Return the int32 sums of a product of matrices."""
    array, points = constant_of(weights), weight_points(other_point)
    if array is not None and array.ndim == 2 and points is not None:
        return dense(call.builder, data, array, own_point, points)
    left, right = (R.astype(each, "int32") for each in (data, weights))
    point, late = data_point(own_point)
    left = R.subtract(left, relax.const(point, "int32") if late is None else late)
    if other_point is not None:
        right = R.subtract(right, R.astype(other_point, "int32"))
    # A separate kernel: fused with the subtractions, it would subtract again for each product.
    return R.matmul(call.emit(left), call.emit(right), out_dtype="int32")


def dense(
    builder: relax.BlockBuilder | ModuleBuilder,
    data: relax.Expr,
    weights: Array,
    own_point: relax.Expr | None,
    points: Array,
) -> relax.Expr:
    """Multiply by constant weights, [depth, units].

    The kernels handle a zero point that is constant and the same for all units. For other zero
    points this function subtracts their share of the sums.
    """
    point, late = data_point(own_point)
    one = int(points[0]) if points.size == 1 else 0
    matrix = as_const(np.ascontiguousarray(weights.T))
    sums = builder.emit(quantized_dense(data, matrix, 1.0, point, 1.0, one, 1.0, 0, "int32"))
    if points.size > 1:
        rows = R.sum(R.astype(data, "int32"), -1, keepdims=bool(spec_of(data).shape[:-1]))
        rows = R.subtract(builder.emit(rows), relax.const(len(weights) * point, "int32"))
        sums = builder.emit(R.subtract(sums, R.multiply(rows, _constant(points))))
    if late is None:
        return sums
    of_units = weights.astype(np.int64).sum(axis=0) - len(weights) * points
    return R.subtract(sums, R.multiply(late, _constant(of_units)))


def _constant(values: Array) -> relax.Expr:
    return relax.const(values.astype(np.int32), "int32")


@dataclass(frozen=True)
class FloatWeights:
    """Weights of float32.

    Attributes:
        array: [units, depth].
    """

    array: Array

    def product(self, _: ModuleBuilder, rows: Any) -> Any:
        """Multiply rows, an expression [count, depth]."""
        return rows @ np.ascontiguousarray(self.array.T)

    def part(self, begin: int, end: int) -> FloatWeights:
        """Return the weights of some units."""
        return FloatWeights(self.array[begin:end])


@dataclass(frozen=True)
class ByteWeights:
    """8-bit weights; data rows are quantized together, by the range of their numbers.

    Attributes:
        array: [depth, units].
        scales: one scale, or one for each unit.
        points: the zero point.
    """

    array: Array
    scales: Array
    points: Array

    def product(self, builder: ModuleBuilder, rows: Any) -> Any:
        """Multiply rows, [count, depth]: return int32 sums times the product of both scales."""
        values, scale, point = quantized(builder, rows.expr)
        sums = builder.emit(dense(builder, values, self.array, point, self.points))
        factor = builder.array(scale) * self.scales
        return builder.array(sums).astype(np.float32) * factor


@formula("MatMulNBits", dtype="float32")
def _matmul_nbits(call: Call, data: Any, _: Any, scales: Any) -> relax.Expr:
    """Multiply by weights of a few bits, with operands and attributes of ``blockwise_dense``."""
    size, shape, blocks = call.integer("block_size"), data.shape, scales.shape[1]
    if not shape or -(-shape[-1] // size) != blocks:
        raise UnsupportedError(f"data of shape {list(shape)} for {blocks} blocks of {size}")
    products = blockwise_dense(
        *call.operands(4),
        bits=call.integer("bits"),
        block_size=size,
        quantizes_data=bool(call.integer("quantizes_data")),
    )
    return call.emit(products)


_MOST = 32
"""The most rows of a matrix. Each row adds some operators to the model."""


@formula("Det")
def _determinant(_: Call, data: Any) -> Any:
    """Eliminate columns one by one; the pivot is a column's largest magnitude, as in Eigen."""
    shape: tuple[int, ...] = (0, 0, *data.shape)
    *outer, size, width = shape
    outer = outer[2:]
    if size != width or not 0 < size <= _MOST or data.dtype != "float32":
        raise UnsupportedError(f"a matrix of {size} × {width}: square, float32, {_MOST} at most")
    count = prod(outer)
    rows = data.reshape(count, size, size)
    sign: Any = data.to(relax.const(np.float32(1)))
    product = sign
    for left in range(size, 0, -1):
        column = np.abs(rows[..., :1])
        index = column.to(R.argmax(column.expr, 1, keepdims=True))
        numbers = index.to(relax.const(np.arange(left).reshape(1, left, 1), "int64"))
        moved: Any = np.where(numbers == index, 0, numbers)
        moved = np.where(numbers == 0, index, moved)
        order: Any = np.broadcast_to(moved, (count, left, left))
        rows = rows.to(R.gather_elements(rows.expr, order.expr, axis=1))
        sign = np.where(index == 0, sign, -sign)
        top, pivot = rows[:, :1, :left], rows[:, :1, :1]
        product = product * pivot
        if left > 1:
            below = rows[:, 1:]
            divisor = np.where(pivot == 0, 1, pivot)
            share = below[..., :1] / divisor
            rows = (below - rounded(share * top))[..., 1:]
    return (sign * product).reshape(*outer)
