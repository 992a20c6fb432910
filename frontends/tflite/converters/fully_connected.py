"""FULLY_CONNECTED."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import check_clamps, clamp_range
from frontends.tflite.converters.context import Context, per_channel, per_tensor, reshaped
from frontends.tflite.converters.convolution import bias_of, check_kernel, int16_bias_type
from frontends.tflite.converters.registry import converter, int16_converter
from frontends.tflite.options import FullyConnectedOptions
from qnn_ops import QnnError, quantized_dense


@int16_converter("FULLY_CONNECTED")
@converter("FULLY_CONNECTED")
def convert_fully_connected(ctx: Context) -> relax.Expr:
    """Return a dense layer; unless the rank is to be kept, the data is seen as rows of K values.

    Weights may be what a run computes.
    """
    options = ctx.options(FullyConnectedOptions)
    if options.weights_format != "DEFAULT":
        raise UnsupportedError(f"weights in the format {options.weights_format}")
    check_clamps(options.activation)
    data, weight, result = ctx.input(0), ctx.input(1), ctx.output()
    check_kernel(data.tensor, weight.tensor, result)
    scale, zero_point = per_channel(weight.tensor, 0)
    # LiteRT reads the zero point of weights with one scale, and takes it for 0 otherwise.
    if isinstance(scale, list) and zero_point != 0:
        raise QnnError(f"{weight.tensor.label} has a scale per row and a zero point that is not 0")
    outer, depth, _ = rows_of(ctx, options.keep_num_dims)
    expr = data.expr
    if data.shape != (*outer, depth):
        expr = ctx.builder.emit(reshaped(expr, (*outer, depth)))
    low, high = clamp_range(options.activation, result)
    return quantized_dense(
        expr,
        weight.expr,
        *data.quantization,
        scale,
        zero_point,
        *per_tensor(result),
        result.dtype,
        bias=_bias(ctx, options, weight.shape[0]),
        out_min=low,
        out_max=high,
        rounding="tflite" if ctx.model.semantics == "tflm" else "float64",
    )


def rows_of(ctx: Context, keep_num_dims: bool) -> tuple[tuple[int, ...], int, int]:
    """Tell how a layer sees its data: as rows, in an order of one or more dimensions.

    Returns:
        The dimensions of the rows, the values in each, and the units of the result.

    Raises:
        QnnError: the data are no whole rows.
    """
    data, weight = ctx.input(0), ctx.tensor(1)
    # Of weights that a run computes files may state none.
    shape = weight.shape if weight.is_constant else ctx.input(1).shape
    if len(shape) != 2:
        raise QnnError(f"{weight.label} must have 2 dimensions, got {shape}")
    units, depth = shape
    if keep_num_dims:
        if data.shape[-1:] != (depth,):
            raise QnnError(
                f"{data.tensor.label} of shape {data.shape} has no rows of {depth}, "
                f"which {weight.label} takes"
            )
        return data.shape[:-1], depth, units
    count = math.prod(data.shape)
    if depth == 0 or count % depth:
        raise QnnError(
            f"{count} values of {data.tensor.label} are no whole rows of {depth}, "
            f"which {weight.label} takes"
        )
    return (count // depth,), depth, units


def _bias(ctx: Context, options: FullyConnectedOptions, units: int) -> relax.Expr | None:
    bias_type = int16_bias_type(options.quantized_bias_type)
    if ctx.tensor(0).dtype == "int16" and bias_type == "int32" and not ctx.has(2):
        # It says how wide the sums are, even where there is none.
        return ctx.values.add_constant(ctx.output(), "_bias", np.zeros(units, np.int32))
    return bias_of(ctx, 2, bias_type)
