"""Convolutions, dense layers and products of matrices in Relax primitives."""

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import Expr
from tvm.relax import op as R

from legalize.primitives.registry import Builder, primitive
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arithmetic.rounding import scale_result
from qnn_ops.arithmetic.sums import conv_factor, dense_factor, is_wide, result_of_sums
from qnn_ops.dialect.attributes import dtype_range, per_axis
from qnn_ops.dialect.expressions import emitted
from qnn_ops.dialect.layouts import permutation, reorder
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.quantized.blockwise_dense import blockwise_dense, middle_of
from qnn_ops.quantized.conv2d import quantized_conv2d
from qnn_ops.quantized.dense import quantized_dense
from qnn_ops.quantized.matmul import matmul_multiplier, quantized_matmul

_LARGEST_PRODUCT = 255 * 255


def centred(value: Expr, zero_point: Any) -> Expr:
    """Subtract the zero point of data or weights: int16. The zero point of int16 data is 0."""
    if spec_of(value).dtype == "int16":
        return value
    # 16 bits hold any difference of two 8-bit values, and multiply twice as fast as 32.
    return R.subtract(R.astype(value, "int16"), relax.const(zero_point, "int16"))


def sum_dtype(depth: int, data_dtype: str) -> str:
    """Return the dtype for sums of ``depth`` products of centred values, which wrap as int32.

    TVM lets LLVM assume that signed integers never overflow. Sums of int16 data may be wide.
    """
    fits = not is_open([depth]) and depth * _LARGEST_PRODUCT <= dtype_range("int32")[1]
    return "int32" if fits and data_dtype != "int16" else "int64"


def wrapped(sums: Expr, dtype: str, *, wide: bool = False) -> Expr:
    """Return sums modulo 2^32 as int32, unless they are wide."""
    return sums if dtype == "int32" or wide else R.astype(sums, "int32")


@primitive(quantized_dense)
def _quantized_dense(
    builder: Builder, attrs: Attrs, data: Expr, weight: Expr, bias: Expr | None = None
) -> Expr:
    kernel_zero_point = np.asarray(attrs.kernel_zero_point)
    if kernel_zero_point.ndim:
        kernel_zero_point = kernel_zero_point.reshape(-1, 1)
    data_dtype = spec_of(data).dtype
    dtype = sum_dtype(spec_of(weight).shape[1], data_dtype)
    wide = is_wide(data_dtype, None if bias is None else spec_of(bias).dtype)
    accumulator = R.matmul(
        centred(data, attrs.input_zero_point),
        R.permute_dims(centred(weight, kernel_zero_point)),
        out_dtype=dtype,
    )
    accumulator = wrapped(accumulator, dtype, wide=wide)
    factor = dense_factor(attrs, spec_of(weight).dtype)
    return emitted(builder, result_of_sums, attrs, accumulator, bias, factor, wide=wide)


@primitive(quantized_conv2d)
def _quantized_conv2d(
    builder: Builder,
    attrs: Attrs,
    data: Expr,
    kernel: Expr,
    bias: Expr | None = None,
    addend: Expr | None = None,
) -> Expr:
    channel_axis = attrs.data_layout.index("C")

    def in_out_layout(value: Expr) -> Expr:
        if attrs.out_layout == attrs.data_layout:
            return value
        return R.permute_dims(value, permutation(attrs.data_layout, attrs.out_layout))

    *sizes, _ = reorder(spec_of(kernel).shape, attrs.kernel_layout, "HWIO")
    data_dtype = spec_of(data).dtype
    dtype = sum_dtype(prod(sizes), data_dtype)
    wide = is_wide(data_dtype, None if bias is None else spec_of(bias).dtype)
    # Zero padding of centred data is padding with the input zero point.
    accumulator = R.nn.conv2d(
        centred(data, attrs.input_zero_point),
        centred(kernel, per_axis(attrs.kernel_zero_point, attrs.kernel_layout.index("O"), 4)),
        strides=list(attrs.strides),
        padding=list(attrs.padding),
        dilation=list(attrs.dilation),
        groups=attrs.groups,
        data_layout=attrs.data_layout,
        kernel_layout=attrs.kernel_layout,
        out_dtype=dtype,
    )
    accumulator = wrapped(accumulator, dtype, wide=wide)
    if bias is not None:
        shape = [1, 1, 1, 1]
        shape[channel_axis] = spec_of(bias).shape[0]
        bias = R.reshape(bias, shape)
    factor = per_axis(conv_factor(attrs, spec_of(kernel).dtype), channel_axis, 4)
    if addend is not None and attrs.out_layout != attrs.data_layout:
        addend = R.permute_dims(addend, permutation(attrs.out_layout, attrs.data_layout))
    operands = accumulator, bias, factor, addend
    return in_out_layout(emitted(builder, result_of_sums, attrs, *operands, wide=wide))


@primitive(quantized_matmul)
def _quantized_matmul(builder: Builder, attrs: Attrs, lhs: Expr, rhs: Expr) -> Expr:
    data = spec_of(lhs)
    dtype = sum_dtype(data.shape[-1], data.dtype)
    right = centred(rhs, attrs.rhs_zero_point)
    if attrs.transpose_rhs:
        rank = len(spec_of(rhs).shape)
        right = R.permute_dims(right, [*range(rank - 2), rank - 1, rank - 2])
    # These are not fused: a fused loop would subtract the zero points anew for each product.
    left, right = (builder.emit(each) for each in (centred(lhs, attrs.lhs_zero_point), right))
    sums = wrapped(R.matmul(left, right, out_dtype=dtype), dtype)
    operands = builder.emit(sums), matmul_multiplier(attrs), attrs.rounding
    return emitted(builder, scale_result, attrs, *operands)


_BYTE = 8
_MOST = 127


@primitive(blockwise_dense)
def _blockwise_dense(
    builder: Builder,
    attrs: Attrs,
    data: Expr,
    weights: Expr,
    scales: Expr,
    points: Expr | None = None,
) -> Expr:
    units, blocks = spec_of(scales).shape
    depth, size = spec_of(data).shape[-1], attrs.block_size
    bytes_of = R.expand_dims(weights, -1)
    shifts = relax.const(np.arange(0, _BYTE, attrs.bits, dtype=np.uint8))
    mask = relax.const(np.uint8((1 << attrs.bits) - 1))
    integers = R.bitwise_and(R.right_shift(bytes_of, shifts), mask)
    steps = R.astype(R.reshape(integers, (units, blocks, size)), "float32")
    if points is None:
        points = relax.const(np.float32(middle_of(attrs.bits)))
    else:
        points = R.expand_dims(points, -1)
    if attrs.quantizes_data:
        weights = R.subtract(R.astype(steps, "int16"), R.astype(points, "int16"))
        return _integer_product(builder, data, builder.emit(weights), scales)
    real = R.multiply(R.subtract(steps, points), R.expand_dims(scales, -1))
    columns = R.permute_dims(R.reshape(real, (units, blocks * size)), [1, 0])
    if depth < blocks * size:
        columns = R.strided_slice(columns, [0], [0], [depth])
    # The weights are not fused: a fused loop would make them anew for each product.
    return R.matmul(data, builder.emit(columns))


def _integer_product(builder: Builder, data: Expr, weights: Expr, scales: Expr) -> Expr:
    """Quantize blocks of rows and multiply them by weights, int16 [units, blocks, size]."""
    emit, shape = builder.emit, spec_of(data).shape
    units, blocks, size = spec_of(weights).shape
    count, depth = prod(shape[:-1]), shape[-1]
    rows = emit(R.reshape(data, (count, depth)))
    if depth < blocks * size:
        more = relax.const(np.zeros((count, blocks * size - depth), np.float32))
        rows = emit(R.concat([rows, more], 1))
    rows = emit(R.permute_dims(emit(R.reshape(rows, (count, blocks, size))), [1, 0, 2]))
    zero, most = (relax.const(np.float32(number)) for number in (0, _MOST))
    largest = emit(R.max(emit(R.abs(rows)), -1, keepdims=True))
    is_none = emit(R.equal(largest, zero))
    factor = emit(R.where(is_none, zero, emit(R.divide(most, largest))))
    steps = emit(R.astype(emit(R.round(emit(R.multiply(rows, factor)))), "int16"))
    columns = emit(R.permute_dims(weights, [1, 2, 0]))
    sums = emit(R.matmul(steps, columns, out_dtype="int32"))
    own = emit(R.divide(largest, most))
    wide = emit(R.reshape(R.permute_dims(scales, [1, 0]), (blocks, 1, units)))
    products = emit(R.multiply(emit(R.astype(sums, "float32")), emit(R.multiply(own, wide))))
    total = emit(R.sum(emit(rounded(products)), 0))
    return R.reshape(total, (*shape[:-1], units))
