"""MatMulInteger and MatMulNBits: products of quantized matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.onnx.converters.quantization import quantized
from frontends.onnx.converters.registry import Array, Call, converter
from frontends.onnx.converters.windows.convolutions import data_point, weight_points
from qnn_ops import blockwise_dense, quantized_dense
from qnn_ops.dialect.registry import as_const, constant_of, spec_of


@converter("MatMulInteger")
def _matmul_integer(call: Call) -> relax.Expr:
    """Return the int32 sums of a product of matrices."""
    data, weights, own_point, other_point = call.operands(4)
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


@converter("MatMulNBits")
def _matmul_nbits(call: Call) -> relax.Expr:
    """Multiply by weights of a few bits, with operands and attributes of ``blockwise_dense``."""
    data, weights, scales, points = call.operands(4)
    size, shape = call.integer("block_size"), call.reals(1)[0].shape
    blocks = spec_of(scales).shape[1]
    if not shape or -(-shape[-1] // size) != blocks:
        raise UnsupportedError(f"data of shape {list(shape)} for {blocks} blocks of {size}")
    products = blockwise_dense(
        data,
        weights,
        scales,
        points,
        bits=call.integer("bits"),
        block_size=size,
        quantizes_data=bool(call.integer("quantizes_data")),
    )
    return call.emit(products)
