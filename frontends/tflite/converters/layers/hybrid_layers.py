"""Hybrid layers: they quantize float32 data at run time, and have 8-bit weights."""

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import activate
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.layers import hybrid
from frontends.tflite.converters.layers.convolution import check_format, kind_of, rows_of
from frontends.tflite.converters.layers.float_layers import transposed_sums
from frontends.tflite.converters.layers.matmul import result_shape, turned
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError

_RANK = 5  # LiteRT extends both operands to this rank
_MOST = 1 << 24  # rows whose scales have indices


def convert_hybrid_conv_2d(ctx: Context) -> Any:
    """Return a convolution of separately quantized images.

    Source of the arithmetic: conv.cc of LiteRT, which has two kinds. With one scale (or several
    equal ones) images have no zero point, and their scale is first multiplied by the kernel's.
    Otherwise they have one, and a sum is multiplied by the channel's scale, then by the image's.
    """
    kernel, window = ctx.tensor(1), kind_of(ctx)
    scales = hybrid.scales_of(ctx, 1, kernel.shape[0])
    if window["groups"] == 1 and (kernel.dtype == "uint8" or np.all(scales == scales[0])):
        sums, scale = _sums(ctx, window, asymmetric=False)
        product = sums * (scale * scales[:1])
    else:
        _check_scales(ctx, scales, kernel.shape[0])
        sums, scale = _sums(ctx, window, asymmetric=True)
        product = rounded(sums * scales) * scale
    return activate(ctx.options.activation, hybrid.with_bias(ctx, product, 2).expr)


def convert_hybrid_depthwise_conv_2d(ctx: Context) -> Any:
    """Return a depthwise convolution; images are quantized with a zero point.

    Source of the arithmetic: DepthwiseConvHybridPerChannel of LiteRT: a sum is multiplied by the
    product of the channel's and the image's scales.
    """
    window = kind_of(ctx)
    scales = _channel_scales(ctx, window["kernel_layout"].index("O"))
    sums, scale = _sums(ctx, window, asymmetric=True)
    product = sums * (scales * scale)
    return activate(ctx.options.activation, hybrid.with_bias(ctx, product, 2).expr)


def convert_hybrid_transpose_conv(ctx: Context) -> Any:
    """Return a transposed convolution of separately quantized images.

    Source: HybridTransposeConv of LiteRT, which scales each product and adds them up in float32.
    Here the products are added up first: the two results differ by at most 2n · 2^-24 of the sum of
    the n products' sizes.
    """
    data = ctx.input(2, rank=4)
    ctx.input(1, rank=4)  # the scales need its axes
    scales = _channel_scales(ctx, 0)
    rows = hybrid.quantized_rows(ctx, data.expr, (data.shape[0], 1, 1, 1), asymmetric=True)
    centre = ctx.builder.array(rows.values).astype("int32") - rows.zero_point
    planes = ctx.builder.array(ctx.weights(1).expr).astype("float32")
    sums = transposed_sums(ctx, centre.astype("float32").expr, planes.expr)
    product = ctx.builder.array(sums) * (scales * rows.scale)
    return activate(ctx.options.activation, hybrid.with_bias(ctx, product, 3).expr)


def _channel_scales(ctx: Context, axis: int) -> Array:
    """Return the scales of an int8 kernel's channels, which are along an axis."""
    kernel = ctx.tensor(1)
    if kernel.dtype != "int8":
        raise UnsupportedError(f"float32 data and {kernel.dtype} weights")
    scales = hybrid.scales_of(ctx, 1, kernel.shape[axis])
    _check_scales(ctx, scales, kernel.shape[axis])
    return scales


def _check_scales(ctx: Context, scales: Array, channels: int) -> None:
    if scales.size != channels:
        raise UnsupportedError(
            f"{ctx.tensor(1).label} has one scale for {channels} channels, for which LiteRT takes "
            "whatever memory holds behind it"
        )


def _sums(ctx: Context, window: dict[str, Any], *, asymmetric: bool) -> tuple[Any, Any]:
    """Return sums of products of integers as float32, and the scale of each image."""
    data = ctx.input(0)
    kernel, array = hybrid.weights_of(ctx, 1)
    expr, batch = data.expr, data.shape[0]
    if asymmetric and any(window["padding"]):
        # 0.0 becomes the zero point, and lies in every range.
        top, left, bottom, right = window["padding"]
        widths = [0, 0, top, bottom, left, right, 0, 0]
        expr = ctx.emit(R.nn.pad(expr, widths, pad_value=0.0))
        window = window | {"padding": (0, 0, 0, 0)}
    rows = hybrid.quantized_rows(ctx, expr, (batch, 1, 1, 1), asymmetric=asymmetric)
    sums = ctx.emit(quantized_conv2d(rows.values, kernel, *hybrid.SUMS, **window))
    others = tuple(i for i, letter in enumerate(window["kernel_layout"]) if letter != "O")
    totals = array.sum(axis=others, dtype=np.int32)
    return hybrid.centred(ctx, sums, rows, totals), rows.scale


def convert_hybrid_fully_connected(ctx: Context) -> relax.Expr:
    """Return a dense layer of separately quantized rows.

    Source of the arithmetic: EvalHybridDense of LiteRT's fully_connected.cc: the scale of a row
    times that of the weights, times the sum, plus the bias, each rounded to float32.
    """
    check_format(ctx)
    options = ctx.options
    outer, depth, units = rows_of(ctx, options.keep_num_dims)
    weight, weight_sums = _weights(ctx)
    scales = hybrid.scales_of(ctx, 1, units)
    if 0 in (*outer, units):
        return R.zeros((*outer, units), "float32")
    if depth == 0:
        raise QnnError(f"{ctx.tensor(1).label} has no elements, which LiteRT does not add up")
    data = ctx.emit(reshaped(ctx.input(0).expr, (prod(outer), depth)))
    product = hybrid.dense_product(ctx, data, weight, weight_sums, scales)
    result = hybrid.bent(ctx, options.activation, hybrid.with_bias(ctx, product, 2))
    return reshaped(result.expr, (*outer, units))


def _weights(ctx: Context) -> tuple[relax.Expr, Any]:
    """Return weights as int8, constant or not, and the sum of each row."""
    if ctx.tensor(1).is_constant:
        weight, array = hybrid.weights_of(ctx, 1)
        return weight, array.sum(axis=1)
    given = ctx.array(1).astype("int8")
    return given.expr, given.sum(1, np.int32)


def convert_hybrid_batch_matmul(ctx: Context) -> Any:
    """Multiply separately quantized rows by constant matrices.

    Source of the arithmetic: EvalHybrid of LiteRT's batch_matmul.cc. Its reference kernel finds
    a row's scale and the sums of weights by the sum of the batches' indices. If both operands have
    several batch axes, these values belong to another row.
    """
    options = ctx.options
    data, kernel, asymmetric = ctx.input(0), ctx.tensor(1), options.asymmetric_quantize_inputs
    array = ctx.constant(1)
    if kernel.dtype != "int8":
        raise UnsupportedError(f"float32 data and {kernel.dtype} weights")
    shape = result_shape(data.shape, array.shape, options)
    if 0 in shape:
        return R.zeros(shape, "float32")
    lhs = turned(ctx, data, options.adj_x)
    left = data.shape if not options.adj_x else (*data.shape[:-2], data.shape[-1], data.shape[-2])
    # [..., units, depth]
    weights = array if options.adj_y else np.ascontiguousarray(np.swapaxes(array, -1, -2))
    if not options.adj_x and len(left) > 2 and weights.ndim > 2 and weights.shape[-3] == 1:
        left = (*left[:-3], left[-3] * left[-2], left[-1])
        weights = weights.reshape(*weights.shape[:-3], *weights.shape[-2:])
    *outer, units, depth = weights.shape
    scales = hybrid.scales_of(ctx, 1, units)
    ends = (1,) * (_RANK - len(left)) + left, (1,) * (_RANK - weights.ndim) + weights.shape
    if asymmetric and ends[1][0] > 1:
        raise UnsupportedError(f"{kernel.label} of shape {kernel.shape}")  # LiteRT's sums end
    count = prod(left[:-1])
    rows = hybrid.quantized_rows(ctx, lhs, (count, 1), asymmetric=asymmetric)
    batches = np.broadcast_shapes(ends[0][:3], ends[1][:3])
    if prod(batches) * left[-2] > _MOST:
        raise QnnError(f"data of shape {data.shape} has more than {_MOST} rows")
    numbers = np.indices(batches)

    def row_indices(sizes: tuple[int, ...], size: int) -> Array:
        number = sum(n for n, each in zip(numbers, sizes, strict=False) if each > 1)
        first = np.broadcast_to(np.asarray(number), batches)[..., np.newaxis] * size
        return np.asarray(first + np.arange(size), np.int32)

    def picked(values: Any, numbers: Array) -> Any:
        """Return the value of its row for each element of the result."""
        flat = values.reshape(count)
        if not np.array_equal(numbers.ravel(), np.arange(count)):
            flat = np.take(flat, numbers.ravel(), 0)
        return flat.reshape(*numbers.shape, 1)

    own = row_indices(ends[0], left[-2])
    factor = picked(rows.scale, own) * scales
    if prod(outer) == 1:
        matrix = ctx.values.add_constant(kernel, "_rows", weights.reshape(units, depth))
        values = ctx.emit(reshaped(rows.values, (count, depth)))
        sums = ctx.emit(quantized_dense(values, matrix, *hybrid.SUMS))
    else:
        words = R.astype(reshaped(rows.values, ends[0]), "int16")
        matrix = ctx.values.add_constant(kernel, "_columns", np.swapaxes(weights, -1, -2))
        sums = ctx.emit(R.matmul(words, R.astype(matrix, "int16"), out_dtype="int32"))
    total = ctx.builder.array(sums).reshape(*batches, left[-2], units).astype("float32")
    if rows.zero_point is not None:
        points = picked(rows.zero_point, own).astype("float32")
        of_weights = weights.reshape(-1, depth).sum(axis=1).astype(np.float32)
        columns = of_weights[row_indices(ends[1], units)][..., np.newaxis, :]
        total = total - rounded(points * columns)
    return rounded(total * factor).reshape(*shape)


def convert_dense_by_block(ctx: Context) -> relax.Expr:
    """Return a dense layer of separately quantized rows, with zero points.

    Source of the arithmetic: EvalBlockwise4Bit of LiteRT's fully_connected.cc. The int32 sum of
    each block, times its scale, is added to the blocks before it. The zero point's share is
    subtracted, and the scale of the row and the bias follow, each rounded to float32.
    """
    check_format(ctx)
    options = ctx.options
    if options.activation != "NONE":  # LiteRT's own kernel forgets the bias, XNNPACK's does not
        raise UnsupportedError(f"{options.activation} behind weights with scales by block")
    outer, depth, units = rows_of(ctx, options.keep_num_dims)
    array, scales = hybrid.blocks_of(ctx)
    if ctx.tensor(1).packed != "int4":
        raise UnsupportedError(f"{ctx.tensor(1).label} has scales by block, and is not int4")
    emit, count, blocks = ctx.emit, prod(outer), scales.shape[1]
    data = emit(reshaped(ctx.input(0).expr, (count, depth)))
    rows = hybrid.quantized_rows(ctx, data, (count, 1), asymmetric=True)
    parts = ctx.builder.array(reshaped(rows.values, (count, blocks, depth // blocks)))
    words: Any = np.transpose(parts, [1, 0, 2]).astype("int16")
    columns = np.ascontiguousarray(array.transpose(1, 2, 0))  # [blocks, size, units]
    matrices = ctx.values.add_constant(ctx.tensor(1), "_blocks", columns)
    sums = emit(R.matmul(words.expr, R.astype(matrices, "int16"), out_dtype="int32"))
    factors = np.ascontiguousarray(scales.T[:, np.newaxis])
    products = rounded(ctx.builder.array(sums).astype("float32") * factors)
    total = products.sum(0, np.float32)
    of_weights = np.zeros(units, np.float32)
    for sum_of_block, scale in zip(array.sum(axis=2, dtype=np.int32).T, scales.T, strict=True):
        of_weights += scale * sum_of_block.astype(np.float32)
    added = rounded(rows.zero_point.astype("float32") * of_weights)
    product = (total - added) * rows.scale
    return reshaped(hybrid.with_bias(ctx, product, 2).expr, (*outer, units))
