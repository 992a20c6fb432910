"""BATCH_MATMUL of float32 data and an int8 matrix, or several."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, reshaped
from frontends.tflite.converters.hybrid import (
    SUMS,
    check_result,
    quantized_rows,
    scales_of,
)
from frontends.tflite.converters.matmul import result_shape, swapped
from frontends.tflite.converters.registry import hybrid_converter
from frontends.tflite.options import BatchMatMulOptions
from qnn_ops import QnnError, quantized_dense
from qnn_ops.rounded import rounded

_RANK = 5  # to which LiteRT extends both operands
_MOST = 1 << 24  # rows whose scales have places


@hybrid_converter("BATCH_MATMUL")
def convert_hybrid_batch_matmul(ctx: Context) -> relax.Expr:
    """Multiply rows, quantized each by itself, by constant matrices.

    Source of the arithmetic: EvalHybrid of LiteRT's batch_matmul.cc. Its reference kernel finds
    the scales of a row, and the sums of weights, by the sum of the batches' numbers: where both
    operands have more than one axis of batches, those of another row.
    """
    options = ctx.options(BatchMatMulOptions)
    check_result(ctx)
    data, kernel, asymmetric = ctx.input(0), ctx.tensor(1), options.asymmetric_quantize_inputs
    array = ctx.constant(1)
    if kernel.dtype != "int8":
        raise UnsupportedError(f"float32 data and {kernel.dtype} weights")
    shape = result_shape(data.shape, array.shape, options)
    if 0 in shape:
        return R.zeros(shape, "float32")
    lhs = data.expr
    if options.adj_x:
        lhs = ctx.builder.emit(R.permute_dims(lhs, swapped(len(data.shape))))
    left = data.shape if not options.adj_x else (*data.shape[:-2], data.shape[-1], data.shape[-2])
    # [..., units, depth]
    weights = array if options.adj_y else np.ascontiguousarray(np.swapaxes(array, -1, -2))
    if not options.adj_x and len(left) > 2 and weights.ndim > 2 and weights.shape[-3] == 1:
        left = (*left[:-3], left[-3] * left[-2], left[-1])
        weights = weights.reshape(*weights.shape[:-3], *weights.shape[-2:])
    *outer, units, depth = weights.shape
    scales = scales_of(ctx, 1, units)
    ends = (1,) * (_RANK - len(left)) + left, (1,) * (_RANK - weights.ndim) + weights.shape
    if asymmetric and ends[1][0] > 1:
        raise UnsupportedError(f"{kernel.label} of shape {kernel.shape}")  # LiteRT's sums end
    count = prod(left[:-1])
    rows = quantized_rows(ctx, lhs, count, (count, 1), asymmetric=asymmetric)
    batches = np.broadcast_shapes(ends[0][:3], ends[1][:3])
    if prod(batches) * left[-2] > _MOST:
        raise QnnError(f"data of shape {data.shape} has more than {_MOST} rows")
    numbers = np.indices(batches)

    def places(sizes: tuple[int, ...], size: int) -> Array:
        number = sum(n for n, each in zip(numbers, sizes, strict=False) if each > 1)
        first = np.broadcast_to(np.asarray(number), batches)[..., np.newaxis] * size
        return np.asarray(first + np.arange(size), np.int32)

    def picked(values: relax.Expr, numbers: Array) -> relax.Expr:
        """Take the values of rows for each place of the result."""
        flat = ctx.builder.emit(reshaped(values, (count,)))
        if not np.array_equal(numbers.ravel(), np.arange(count)):
            flat = ctx.builder.emit(R.take(flat, relax.const(numbers.ravel()), 0, "clip"))
        return ctx.builder.emit(reshaped(flat, (*numbers.shape, 1)))

    own = places(ends[0], left[-2])
    factor = R.multiply(picked(rows.scale, own), relax.const(scales))
    if not outer or prod(outer) == 1:
        matrix = ctx.values.add_constant(kernel, "_rows", weights.reshape(units, depth))
        values = ctx.builder.emit(reshaped(rows.values, (count, depth)))
        sums = ctx.builder.emit(quantized_dense(values, matrix, *SUMS))
    else:
        words = R.astype(reshaped(rows.values, ends[0]), "int16")
        matrix = ctx.values.add_constant(kernel, "_columns", np.swapaxes(weights, -1, -2))
        sums = ctx.builder.emit(R.matmul(words, R.astype(matrix, "int16"), out_dtype="int32"))
    total = R.astype(reshaped(sums, (*batches, left[-2], units)), "float32")
    if rows.zero_point is not None:
        points = R.astype(picked(rows.zero_point, own), "float32")
        of_weights = weights.reshape(-1, depth).sum(axis=1).astype(np.float32)
        columns = of_weights[places(ends[1], units)][..., np.newaxis, :]
        total = R.subtract(
            total, rounded(ctx.builder.emit(R.multiply(points, relax.const(columns))))
        )
    product = rounded(ctx.builder.emit(R.multiply(total, factor)))
    return reshaped(ctx.builder.emit(product), shape)
