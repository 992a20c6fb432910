"""Parts of hybrid operators: they quantize float32 data at run time, and have weights of 8 bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.activations import activate, check_clamps
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.functions.integers import read_as
from qnn_ops import (
    QnnError,
    dynamic_encoding,
    dynamic_quantize,
    float_function,
    quantized_dense,
)
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of

SUMS = (1.0, 0, 1.0, 0, 1.0, 0, "int32")
"""The encodings and the dtype of sums of products of plain integers."""


@dataclass(frozen=True)
class QuantizedRows:
    """Rows of real numbers as int8.

    Attributes:
        values: int8, shaped as the data.
        scale: an ``Expression``, float32, one for each row.
        zero_point: the same, int32; None if all are 0.
    """

    values: relax.Expr
    scale: Any
    zero_point: Any


def quantized_rows(
    ctx: Context, data: relax.Expr, each: Sequence[int], *, asymmetric: bool
) -> QuantizedRows:
    """Quantize rows of data separately, as LiteRT does.

    Args:
        ctx: the operator.
        data: float32.
        each: the shape of scales and zero points, one for each row: their number, and sizes of 1.
        asymmetric: whether rows have zero points.
    """
    emit, array, shape, count = ctx.emit, ctx.builder.array, spec_of(data).shape, each[0]
    if not count:
        point = array(R.zeros(each, "int32")) if asymmetric else None
        return QuantizedRows(emit(R.zeros(shape, "int8")), array(R.zeros(each, "float32")), point)
    # The rows are the first axes. With open sizes, a quotient may not be simplified.
    ends = (axis for axis in range(len(shape) + 1) if prod(shape[:axis]) == count)
    size = prod(shape[next(ends) :])
    rows = emit(reshaped(data, (count, size)))
    encoding = array(dynamic_encoding(rows, asymmetric))
    values = emit(reshaped(emit(dynamic_quantize(rows, encoding.expr)), shape))
    point = encoding[:, 2:3].reshape(*each).astype("int32") if asymmetric else None
    return QuantizedRows(values, encoding[:, 0:1].reshape(*each), point)


def weights_of(ctx: Context, position: int) -> tuple[relax.Expr, Array]:
    """Return constant weights as LiteRT's hybrid operators read them: always as int8.

    Returns:
        The parameter, and its value.
    """
    tensor, array = ctx.tensor(position), ctx.constant(position)
    if tensor.dtype == "int8":
        return ctx.weights(position).expr, array
    array = array.view(np.int8)
    return ctx.values.add_constant(tensor, "_int8", array), array


def scales_of(ctx: Context, position: int, channels: int) -> Array:
    """Return the scale of weights, or of each channel; their zero points are not read.

    Raises:
        QnnError: there is no scale, or a wrong number of scales.
    """
    tensor = ctx.tensor(position)
    quantization = tensor.quantization
    if quantization is None:
        raise QnnError(f"{tensor.label} is {tensor.dtype} without a scale")
    if quantization.scale.size not in (1, channels):
        raise QnnError(f"{tensor.label} has {quantization.scale.size} scales for {channels}")
    return quantization.scale


def centred(ctx: Context, sums: relax.Expr, rows: QuantizedRows, weight_sums: Any) -> Any:
    """Return int32 sums of products as float32, without the zero points' share.

    Args:
        ctx: the operator.
        sums: of quantized data and weights, int32.
        rows: the quantized data; its zero points broadcast with the sums.
        weight_sums: of the weights of each output channel, the sums' last axis; an ``Expression``
            if the run computes them.
    """
    products = ctx.builder.array(sums)
    if rows.zero_point is not None:
        products = products - rows.zero_point * weight_sums.astype(np.int32)
    return products.astype(np.float32)


def dense_product(
    ctx: Context, data: relax.Expr, weights: relax.Expr, weight_sums: Any, scales: Array
) -> Any:
    """Multiply separately quantized rows by weights, as the operator's options say.

    Args:
        ctx: the operator.
        data: float32, [rows, size].
        weights: int8, [units, size].
        weight_sums: the sum of each row of the weights.
        scales: of all weights, or of each row.
    """
    each, asymmetric = (spec_of(data).shape[0], 1), ctx.options.asymmetric_quantize_inputs
    rows = quantized_rows(ctx, data, each, asymmetric=asymmetric)
    sums = ctx.emit(quantized_dense(rows.values, weights, *SUMS))
    return centred(ctx, sums, rows, weight_sums) * (rows.scale * scales)


def with_bias(ctx: Context, product: Any, position: int) -> Any:
    """Add the bias, if the operator has one, to a product that is rounded first."""
    product = rounded(product)
    if not ctx.has(position):
        return product
    bias = ctx.input(position)
    if bias.dtype != "float32":
        raise QnnError(f"the bias {bias.label} must be float32, got {bias.dtype}")
    return product + ctx.array(position)


def bent(ctx: Context, activation: str, values: Any) -> Any:
    """Apply the activation of a recurrent or hybrid layer to an ``Expression`` of float32."""
    if activation == "TANH":
        return values.to(float_function(values.expr, "tanh"))
    if activation == "SIGN_BIT":  # -0 and NaN may have it
        bits = values.to(read_as(ctx, values.expr, "float32", "int32"))
        return (bits < 0).astype(np.float32)
    check_clamps(activation)
    return values.to(activate(activation, values.expr))


def blocks_of(ctx: Context) -> tuple[Array, Array]:
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
