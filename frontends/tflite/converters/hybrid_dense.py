"""FULLY_CONNECTED of float32 data and 8-bit weights."""

from __future__ import annotations

from math import prod

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, reshaped
from frontends.tflite.converters.fully_connected import rows_of
from frontends.tflite.converters.hybrid import (
    SUMS,
    centred,
    check_result,
    quantized_rows,
    scales_of,
    weights_of,
    with_bias,
)
from frontends.tflite.converters.recurrent import bent
from frontends.tflite.converters.registry import hybrid_converter
from frontends.tflite.options import FullyConnectedOptions
from qnn_ops import QnnError, quantized_dense


@hybrid_converter("FULLY_CONNECTED")
def convert_hybrid_fully_connected(ctx: Context) -> relax.Expr:
    """Return a dense layer of rows that are quantized each by itself.

    Source of the arithmetic: EvalHybridDense of LiteRT's fully_connected.cc: the scale of a row
    times that of the weights, times the sum, plus the bias, each rounded to float32.
    """
    options = ctx.options(FullyConnectedOptions)
    check_result(ctx)
    if options.weights_format != "DEFAULT":
        raise UnsupportedError(f"weights in the format {options.weights_format}")
    outer, depth, units = rows_of(ctx, options.keep_num_dims)
    weight, weight_sums = _weights(ctx)
    scales = relax.const(scales_of(ctx, 1, units))
    if 0 in (*outer, units):
        return R.zeros((*outer, units), "float32")
    if depth == 0:
        raise QnnError(
            f"{ctx.tensor(1).label} has rows of no elements, which LiteRT does not add up"
        )
    count = prod(outer)
    data = ctx.builder.emit(reshaped(ctx.input(0).expr, (count, depth)))
    rows = quantized_rows(
        ctx, data, count, (count, 1), asymmetric=options.asymmetric_quantize_inputs
    )
    sums = ctx.builder.emit(quantized_dense(rows.values, weight, *SUMS))
    steps = centred(ctx, sums, rows, weight_sums)
    product = R.multiply(steps, R.multiply(rows.scale, scales))
    result = bent(ctx, options.activation, ctx.builder.emit(with_bias(ctx, product, 2)))
    return reshaped(ctx.builder.emit(result), (*outer, units))


def _weights(ctx: Context) -> tuple[relax.Expr, Array | relax.Expr]:
    """Return weights as int8, constant or not, and the sum of each row."""
    if ctx.tensor(1).is_constant:
        weight, array = weights_of(ctx, 1)
        return weight, array.sum(axis=1)
    emit = ctx.builder.emit
    given = emit(R.astype(ctx.input(1).expr, "int8"))
    return given, emit(R.sum(emit(R.astype(given, "int32")), [1]))
