"""FULLY_CONNECTED and EMBEDDING_LOOKUP of weights whose rows have a scale for each block."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, reshaped
from frontends.tflite.converters.fully_connected import rows_of
from frontends.tflite.converters.gather import checked_indices, take_at
from frontends.tflite.converters.hybrid import check_result, quantized_rows, weights_of, with_bias
from frontends.tflite.converters.registry import block_converter
from frontends.tflite.options import FullyConnectedOptions
from qnn_ops.errors import QnnError
from qnn_ops.rounded import rounded


@block_converter("FULLY_CONNECTED")
def convert_dense_by_block(ctx: Context) -> relax.Expr:
    """Return a dense layer of rows that are quantized each by itself, with zero points.

    Source of the arithmetic: EvalBlockwise4Bit of LiteRT's fully_connected.cc. The int32 sum of
    each block times its scale is added to those before it; what the zero point added is taken
    away, and the scale of the row and the bias follow, each rounded to float32.
    """
    options = ctx.options(FullyConnectedOptions)
    check_result(ctx)
    if options.weights_format != "DEFAULT":
        raise UnsupportedError(f"weights in the format {options.weights_format}")
    if options.activation != "NONE":  # LiteRT's own kernel forgets it, XNNPACK's does not
        raise UnsupportedError(f"{options.activation} behind weights with scales by block")
    outer, depth, units = rows_of(ctx, options.keep_num_dims)
    array, scales = _blocks_of(ctx)
    if ctx.tensor(1).packed != "int4":
        raise UnsupportedError(f"{ctx.tensor(1).label} has scales by block, and is not int4")
    emit, count, blocks = ctx.builder.emit, prod(outer), scales.shape[1]
    data = emit(reshaped(ctx.input(0).expr, (count, depth)))
    rows = quantized_rows(ctx, data, count, (count, 1), asymmetric=True)
    parts = emit(reshaped(rows.values, (count, blocks, depth // blocks)))
    words = R.astype(emit(R.permute_dims(parts, [1, 0, 2])), "int16")
    columns = np.ascontiguousarray(array.transpose(1, 2, 0))  # [blocks, size, units]
    matrices = ctx.values.add_constant(ctx.tensor(1), "_blocks", columns)
    sums = emit(R.matmul(words, R.astype(matrices, "int16"), out_dtype="int32"))
    factors = relax.const(np.ascontiguousarray(scales.T[:, np.newaxis]))
    products = rounded(emit(R.multiply(R.astype(sums, "float32"), factors)))
    total = emit(R.sum(emit(products), [0]))
    of_weights = np.zeros(units, np.float32)
    for sum_of_block, scale in zip(array.sum(axis=2, dtype=np.int32).T, scales.T, strict=True):
        of_weights += scale * sum_of_block.astype(np.float32)
    added = R.multiply(R.astype(rows.zero_point, "float32"), relax.const(of_weights))
    product = R.multiply(emit(R.subtract(total, rounded(emit(added)))), rows.scale)
    return reshaped(emit(with_bias(ctx, product, 2)), (*outer, units))


@block_converter("EMBEDDING_LOOKUP")
def convert_embedding_by_block(ctx: Context) -> relax.Expr:
    """Take rows of a table as real numbers.

    Source of the arithmetic: EvalBlockwise of LiteRT's embedding_lookup.cc.
    """
    places, table = ctx.input(0), ctx.tensor(1)
    check_result(ctx)
    array, scales = _blocks_of(ctx)
    if len(places.shape) != 1:
        raise QnnError(f"rows {places.shape} of a table of shape {table.shape}")
    if not table.packed:
        raise UnsupportedError(f"{table.label} has scales by block, and is neither int4 nor int2")
    found, emit = checked_indices(ctx, 0, table.shape[:1]), ctx.builder.emit
    rows = emit(take_at(weights_of(ctx, 1)[0], found, 0))
    factors = emit(take_at(relax.const(scales), found, 0))
    values = R.astype(reshaped(rows, (*places.shape, *array.shape[1:])), "float32")
    product = R.multiply(values, reshaped(factors, (*places.shape, scales.shape[1], 1)))
    return reshaped(emit(rounded(emit(product))), (*places.shape, table.shape[1]))


def _blocks_of(ctx: Context) -> tuple[Array, Array]:
    """Return weights [rows, blocks, size] and float32 scales [rows, blocks]."""
    table, array = ctx.tensor(1), ctx.constant(1)
    blocks = table.blocks
    assert blocks is not None
    if array.ndim != 2 or 0 in array.shape or array.shape[1] % blocks.size:
        raise QnnError(f"{table.label} of shape {table.shape} has blocks of {blocks.size}")
    rows, count = array.shape[0], array.shape[1] // blocks.size
    scales = ctx.model.tensors[blocks.scales]
    if scales.dtype != "float16" or scales.data is None or scales.data.size != rows * count:
        raise QnnError(
            f"the scales {scales.label} of {table.label} must be {rows * count} constants of "
            f"float16, got {scales.dtype} of shape {scales.shape}"
        )
    values = scales.data.reshape(rows, count).astype(np.float32)
    return array.reshape(rows, count, blocks.size), values
