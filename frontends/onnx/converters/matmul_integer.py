"""MatMulInteger."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.registry import Operands, converter, operands_of
from frontends.onnx.converters.zero_points import data_point, weight_points
from qnn_ops import quantized_dense
from qnn_ops.registry import constant_of, spec_of

Array = np.ndarray[Any, Any]


@converter("MatMulInteger")
def _matmul_integer(
    builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    """Return the int32 sums of a product of matrices."""
    data, weights, own_point, other_point = operands_of(operands, 4)
    array, points = constant_of(weights), weight_points(other_point)
    if array is not None and array.ndim == 2 and points is not None:
        return dense(builder, data, array, own_point, points)
    left, right = (R.astype(each, "int32") for each in (data, weights))
    point, late = data_point(own_point)
    left = R.subtract(left, relax.const(point, "int32") if late is None else late)
    if other_point is not None:
        right = R.subtract(right, R.astype(other_point, "int32"))
    # Apart: fused with what subtracts, it would subtract for each product anew.
    return R.matmul(builder.emit(left), builder.emit(right), out_dtype="int32")


def dense(
    builder: relax.BlockBuilder | ModuleBuilder,
    data: relax.Expr,
    weights: Array,
    own_point: relax.Expr | None,
    points: Array,
) -> relax.Expr:
    """Multiply by constant weights, [depth, units].

    The kernels know the zero points that are constant, and one for all units. What others add to
    the sums is subtracted.
    """
    point, late = data_point(own_point)
    one = int(points[0]) if points.size == 1 else 0
    matrix = relax.const(np.ascontiguousarray(weights.T), str(weights.dtype))
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
