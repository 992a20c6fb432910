"""Products of matrices: QLinearMatMul and QGemm."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.qdq.group import (
    RUNTIMES,
    Group,
    LeftInFloatError,
    NoRuleError,
    Operand,
    biased,
    check_axis,
    check_weights,
    one_point,
    operator_name,
)
from qnn_ops import quantized_dense, quantized_matmul
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.expressions import Expression
from qnn_ops.dialect.registry import as_const, constant_of, spec_of

_MATRIX = 2
"""The number of axes of a matrix."""


@biased("matmul", arithmetics=tuple(RUNTIMES))
def _matmul(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    data = group.activation(call.args[0])
    weights, is_transposed = _weights(group, call.args[1])
    check_weights(data, weights)
    is_constant = constant_of(weights.data) is not None
    if not is_constant or len(spec_of(weights.data).shape) != 2:
        if bias is not None:
            raise LeftInFloatError("something is added to a product of two activations")
        if not group.runtime.multiplies_activations:
            raise LeftInFloatError(f"{group.runtime.name} multiplies two activations in float")
        return _of_two(group, data, weights, is_transposed)
    if not spec_of(data.data).shape:
        raise NoRuleError("a product of matrices needs one matrix of weights")
    unit_axis = 0 if is_transposed else 1
    check_axis(weights, unit_axis, "columns")
    extra: dict[str, Any] = {}
    if bias is not None:
        units = spec_of(weights.data).shape[unit_axis]
        steps = group.bias_integers(bias, data, weights)
        if steps.shape[-1:] == () or steps.size not in (1, units):
            return _by_primitives(group, data, weights, is_transposed, steps)
        extra["bias"] = relax.const(np.broadcast_to(steps.reshape(-1), units).copy(), "int32")
    return quantized_dense(
        data.data,
        _as_units(group, weights.data, is_transposed),
        **data.named("input"),
        kernel_scale=weights.scale,
        kernel_zero_point=one_point(weights),
        **group.result(),
        rounding="float32",
        **extra,
    )


def _of_two(group: Group, lhs: Operand, rhs: Operand, is_transposed: bool) -> relax.Expr:
    """Multiply two activations, or by several constant matrices."""
    if rhs.has_several or min(len(spec_of(each.data).shape) for each in (lhs, rhs)) < _MATRIX:
        return _by_primitives(group, lhs, rhs, is_transposed)
    return quantized_matmul(
        lhs.data,
        rhs.data,
        **lhs.named("lhs"),
        **rhs.named("rhs"),
        **group.result(),
        transpose_rhs=is_transposed,
        rounding="float32",
    )


def _by_primitives(
    group: Group, lhs: Operand, rhs: Operand, is_transposed: bool, bias: Array | None = None
) -> relax.Expr:
    """Multiply by vectors or by matrices with scales per column; also with any bias.

    Raises:
        LeftInFloatError: the scales are not per column.
    """
    rank = len(spec_of(rhs.data).shape)
    check_axis(rhs, 0 if is_transposed else max(rank, _MATRIX) - 1, "columns")
    points = np.asarray(rhs.zero_point, np.int32)
    if is_transposed and points.ndim:
        points = points[:, None]
    left, right = (
        Expression(group.builder, data).astype(np.int32) - point
        for data, point in ((lhs.data, np.asarray(lhs.zero_point, np.int32)), (rhs.data, points))
    )
    if is_transposed:
        right = right.to(R.permute_dims(right.expr))
    sums = left.to(R.matmul(left.expr, right.expr, out_dtype="int32"))
    if bias is not None:
        sums = sums + bias
    scale, point, dtype = group.encoding
    steps = sums.astype(np.float32) * (lhs.bias_steps(rhs) / np.float32(scale))
    low, high = (float(np.float32(end - point)) for end in dtype_range(dtype))
    rounded = np.rint(np.clip(steps, low, high)).astype(np.int32)
    return (rounded + np.int32(point)).astype(dtype).value


def _weights(group: Group, expr: relax.Expr) -> tuple[Operand, bool]:
    """Return the weights, and whether their shape is [units, depth]."""
    value = group.value(expr)
    if operator_name(value) == "relax.permute_dims" and len(spec_of(value).shape) == 2:
        return group.quantized(value.args[0]), True
    return group.quantized(expr), False


def _as_units(group: Group, data: relax.Expr, is_transposed: bool) -> relax.Expr:
    if is_transposed:
        return data
    array = constant_of(data)
    if array is None:
        return group.builder.emit(R.permute_dims(data))
    return as_const(np.ascontiguousarray(array.T))
