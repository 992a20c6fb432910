"""BATCH_MATMUL."""

from functools import partial
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, per_tensor, reshaped
from frontends.tflite.converters.fixed_point import rescaled, saturated
from frontends.tflite.converters.scales import check_symmetric, zero_points
from frontends.tflite.options.base import Options
from qnn_ops import float_conv2d, float_matmul, quantized_dense, quantized_matmul
from qnn_ops.arithmetic.fixed_point import MOST_REDUCED_SHIFT, quantize_multiplier
from qnn_ops.dialect.sizes import broadcast
from qnn_ops.errors import QnnError

_MOST_DIMENSIONS = 5  # that LiteRT takes


def convert_float_batch_matmul(ctx: Context) -> relax.Expr:
    """Multiply matrices; one or both may be transposed first."""
    options = ctx.options
    lhs, rhs = ctx.input(0), ctx.input(1)
    shape = result_shape(lhs.shape, rhs.shape, options)
    if 0 in (*shape, *lhs.shape):
        return R.zeros(shape, "float32")
    left = turned(ctx, lhs, options.adj_x)
    if rhs.is_constant and len(rhs.shape) == 2:
        # A convolution of pixels; its weights are laid out before the run.
        depth, units = reversed(rhs.shape) if options.adj_y else rhs.shape
        layout = "OHWI" if options.adj_y else "HWIO"
        sizes = [{"H": 1, "W": 1, "I": depth, "O": units}[letter] for letter in layout]
        pixels = ctx.emit(reshaped(left, (1, 1, prod(shape[:-1]), depth)))
        kernel = ctx.emit(reshaped(rhs.expr, tuple(sizes)))
        sums = ctx.emit(float_conv2d(pixels, kernel, kernel_layout=layout))
        return reshaped(sums, shape)
    return float_matmul(left, turned(ctx, rhs, options.adj_y))


def turned(ctx: Context, operand: Operand, is_swapped: bool) -> relax.Expr:
    """Return matrices, transposed if they are to be swapped."""
    if not is_swapped:
        return operand.expr
    rank = len(operand.shape)
    return ctx.emit(R.permute_dims(operand.expr, [*range(rank - 2), rank - 1, rank - 2]))


def convert_batch_matmul(ctx: Context) -> relax.Expr:
    """Multiply quantized matrices; a constant matrix makes it a dense layer that rounds twice."""
    options, result = ctx.options, ctx.output()
    ctx.common_dtype("int8")
    lhs, rhs = ctx.input(0), ctx.tensor(1)
    sizes = rhs.shape if rhs.is_constant else ctx.input(1).shape
    shape = result_shape(lhs.shape, sizes, options)
    (lhs_scale, lhs_point), (rhs_scale, rhs_point) = lhs.quantization, per_tensor(rhs)
    # As LiteRT rounds it.
    scale = float(np.float32(lhs_scale) * np.float32(rhs_scale))
    encoding = (*per_tensor(result), result.dtype)
    if 0 in (*shape, *lhs.shape):
        return zero_points(result, shape)
    left = turned(ctx, lhs, options.adj_x)
    if rhs.is_constant and len(sizes) == 2:
        # [units, depth]
        array = ctx.constant(1) if options.adj_y else np.ascontiguousarray(ctx.constant(1).T)
        weights = ctx.values.add_constant(result, "_weights", array)
        return quantized_dense(
            left, weights, scale, lhs_point, 1.0, rhs_point, *encoding, rounding="tflite"
        )
    encodings = (*lhs.quantization, rhs_scale, rhs_point, *encoding)
    return quantized_matmul(left, ctx.input(1).expr, *encodings, transpose_rhs=options.adj_y)


def convert_unscaled_batch_matmul(ctx: Context) -> relax.Expr:
    """Return the result's zero point, which is added to sums that a multiplier of 0 scales."""
    options, (lhs, rhs) = ctx.options, (ctx.input(0), ctx.input(1))
    return zero_points(ctx.output(), result_shape(lhs.shape, rhs.shape, options))


def convert_int16_batch_matmul(ctx: Context) -> Any:
    """Multiply int16 matrices by int16 ones, or by constant int8 ones, with sums of 64 bits."""
    options, result = ctx.options, ctx.output()
    lhs, rhs = ctx.input(0), ctx.input(1)
    if rhs.dtype not in ("int16", "int8"):
        raise UnsupportedError(f"a matrix of type {rhs.dtype}")
    check_symmetric(lhs.tensor, rhs.tensor, result)
    shape = result_shape(lhs.shape, rhs.shape, options)
    if 0 in (*shape, *lhs.shape):
        return R.zeros(shape, "int16")
    # As LiteRT rounds it.
    scale = np.float32(lhs.quantization[0]) * np.float32(rhs.quantization[0])
    multiplier, shift = quantize_multiplier(float(scale) / per_tensor(result)[0])
    if shift > MOST_REDUCED_SHIFT:
        raise QnnError(f"the scale of {result.label} is too small: LiteRT does not define a result")
    sums = ctx.builder.array(_product(ctx, "int64"))
    return saturated(rescaled(sums, int(multiplier), int(shift)), "int16")


def convert_summed_batch_matmul(ctx: Context) -> relax.Expr:
    """Return the int32 sums of products of int8 numbers; scales and zero points play no part.

    Source of the arithmetic: EvalInt8Int32 of LiteRT's batch_matmul.cc.
    """
    lhs, rhs = ctx.input(0), ctx.input(1)
    if other := {lhs.dtype, rhs.dtype} - {"int8"}:
        raise UnsupportedError(f"a matrix of type {other.pop()}")
    shape = result_shape(lhs.shape, rhs.shape, ctx.options)
    if 0 in (*shape, *lhs.shape):
        return R.zeros(shape, "int32")
    return _product(ctx, "int32")


def _product(ctx: Context, dtype: str) -> relax.Expr:
    """Multiply both matrices as numbers of a type; one or both may be transposed first."""
    options = ctx.options
    matrices = map(partial(turned, ctx), ctx.inputs(), (options.adj_x, options.adj_y))
    factors = [ctx.emit(R.astype(matrix, dtype)) for matrix in matrices]
    return R.matmul(*factors, out_dtype=dtype)


def result_shape(lhs: tuple[int, ...], rhs: tuple[int, ...], options: Options) -> tuple[int, ...]:
    """Return the shape of a product.

    Raises:
        QnnError: the operands do not fit together.
    """
    if not all(2 <= len(shape) <= _MOST_DIMENSIONS for shape in (lhs, rhs)):
        raise QnnError(f"must have operands of 2 to 5 dimensions, got {lhs} and {rhs}")
    rows, depth = reversed(lhs[-2:]) if options.adj_x else lhs[-2:]
    inner, columns = reversed(rhs[-2:]) if options.adj_y else rhs[-2:]
    try:
        batches = broadcast(lhs[:-2], rhs[:-2])
    except ValueError:
        batches = None
    if depth != inner or batches is None:
        raise QnnError(f"operands of shapes {lhs} and {rhs} have no product")
    return (*batches, rows, columns)
