"""BATCH_MATMUL."""

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor, reshaped
from frontends.tflite.converters.scales import check_symmetric, zero_points
from frontends.tflite.options.layers import BatchMatMulOptions
from qnn_ops import float_conv2d, float_matmul, quantized_dense, quantized_matmul
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.arithmetic.wide_sums import MOST_SHIFT, reduced_multiplier
from qnn_ops.dialect.sizes import broadcast
from qnn_ops.errors import QnnError

_MOST_DIMENSIONS = 5  # that LiteRT takes


def convert_float_batch_matmul(ctx: Context) -> relax.Expr:
    """Multiply matrices; one or both may be transposed first."""
    options = ctx.options(BatchMatMulOptions)
    lhs, rhs = ctx.input(0), ctx.input(1)
    shape = result_shape(lhs.shape, rhs.shape, options)
    if 0 in (*shape, *lhs.shape):
        return R.zeros(shape, "float32")
    left, right = lhs.expr, rhs.expr
    if options.adj_x:
        left = ctx.emit(R.permute_dims(left, swapped(len(lhs.shape))))
    if rhs.is_constant and len(rhs.shape) == 2:
        # A convolution of pixels; its weights are laid out before the run.
        depth, units = reversed(rhs.shape) if options.adj_y else rhs.shape
        layout = "OHWI" if options.adj_y else "HWIO"
        sizes = [{"H": 1, "W": 1, "I": depth, "O": units}[letter] for letter in layout]
        pixels = ctx.emit(reshaped(left, (1, 1, prod(shape[:-1]), depth)))
        kernel = ctx.emit(reshaped(right, tuple(sizes)))
        sums = ctx.emit(float_conv2d(pixels, kernel, kernel_layout=layout))
        return reshaped(sums, shape)
    if options.adj_y:
        right = ctx.emit(R.permute_dims(right, swapped(len(rhs.shape))))
    return float_matmul(left, right)


def convert_batch_matmul(ctx: Context) -> relax.Expr:
    """Multiply quantized matrices; a constant matrix makes it a dense layer that rounds twice."""
    options, result = ctx.options(BatchMatMulOptions), ctx.output()
    lhs, rhs = ctx.input(0), ctx.tensor(1)
    dtypes = {lhs.dtype, rhs.dtype, result.dtype}
    if dtypes != {"int8"}:
        raise UnsupportedError(f"tensors of type {', '.join(sorted(dtypes))}")
    sizes = rhs.shape if rhs.is_constant else ctx.input(1).shape
    shape = result_shape(lhs.shape, sizes, options)
    (lhs_scale, lhs_point), (rhs_scale, rhs_point) = lhs.quantization, per_tensor(rhs)
    # As LiteRT rounds it.
    scale = float(np.float32(lhs_scale) * np.float32(rhs_scale))
    encoding = (*per_tensor(result), result.dtype)
    if 0 in (*shape, *lhs.shape):
        return zero_points(result, shape)
    left = lhs.expr
    if options.adj_x:
        left = ctx.emit(R.permute_dims(left, swapped(len(lhs.shape))))
    if rhs.is_constant and len(sizes) == 2:
        # [units, depth]
        array = ctx.constant(1) if options.adj_y else np.ascontiguousarray(ctx.constant(1).T)
        weights = ctx.values.add_constant(result, "_weights", array)
        return quantized_dense(
            left, weights, scale, lhs_point, 1.0, rhs_point, *encoding, rounding="tflite"
        )
    return quantized_matmul(
        left,
        ctx.input(1).expr,
        lhs_scale,
        lhs_point,
        rhs_scale,
        rhs_point,
        *encoding,
        transpose_rhs=options.adj_y,
    )


def convert_unscaled_batch_matmul(ctx: Context) -> relax.Expr:
    """Return the result's zero point, which is added to sums that a multiplier of 0 scales."""
    options, (lhs, rhs) = ctx.options(BatchMatMulOptions), (ctx.input(0), ctx.input(1))
    return zero_points(ctx.output(), result_shape(lhs.shape, rhs.shape, options))


def convert_int16_batch_matmul(ctx: Context) -> relax.Expr:
    """Multiply int16 matrices by int16 ones, or by constant int8 ones, with sums of 64 bits."""
    options, result = ctx.options(BatchMatMulOptions), ctx.output()
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
    if shift > MOST_SHIFT:
        raise QnnError(f"the scale of {result.label} is too small: LiteRT does not define a result")
    down = 15 - int(shift)
    numbers = (int(reduced_multiplier(multiplier)), 1 << (down - 1), down, -(2**15), 2**15 - 1)
    factor, half, bits, low, high = (relax.const(number, "int64") for number in numbers)
    sums = R.add(R.multiply(_product(ctx, "int64"), factor), half)
    wrapped = R.astype(R.astype(R.right_shift(sums, bits), "int32"), "int64")
    return R.astype(R.minimum(R.maximum(wrapped, low), high), "int16")


def convert_summed_batch_matmul(ctx: Context) -> relax.Expr:
    """Return the int32 sums of products of int8 numbers; scales and zero points play no part.

    Source of the arithmetic: EvalInt8Int32 of LiteRT's batch_matmul.cc.
    """
    lhs, rhs = ctx.input(0), ctx.input(1)
    if other := {lhs.dtype, rhs.dtype} - {"int8"}:
        raise UnsupportedError(f"a matrix of type {other.pop()}")
    shape = result_shape(lhs.shape, rhs.shape, ctx.options(BatchMatMulOptions))
    if 0 in (*shape, *lhs.shape):
        return R.zeros(shape, "int32")
    return _product(ctx, "int32")


def _product(ctx: Context, dtype: str) -> relax.Expr:
    """Multiply both matrices as numbers of a type; one or both may be transposed first."""
    options, factors = ctx.options(BatchMatMulOptions), []
    for operand, is_swapped in ((ctx.input(0), options.adj_x), (ctx.input(1), options.adj_y)):
        order = swapped(len(operand.shape)) if is_swapped else list(range(len(operand.shape)))
        matrix = ctx.emit(R.permute_dims(operand.expr, order))
        factors.append(ctx.emit(R.astype(matrix, dtype)))
    return R.matmul(*factors, out_dtype=dtype)


def swapped(rank: int) -> list[int]:
    """Return the order of axes that transposes matrices."""
    return [*range(rank - 2), rank - 1, rank - 2]


def result_shape(
    lhs: tuple[int, ...], rhs: tuple[int, ...], options: BatchMatMulOptions
) -> tuple[int, ...]:
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
