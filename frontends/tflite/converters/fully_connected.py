"""FULLY_CONNECTED."""

from __future__ import annotations

import math

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import clamp_range
from frontends.tflite.converters.context import Context, per_channel, per_tensor, reshaped
from frontends.tflite.converters.kernels import bias_of, check_kernel
from frontends.tflite.converters.registry import converter
from frontends.tflite.options import FullyConnectedOptions
from qnn_ops import QnnError, quantized_dense


@converter("FULLY_CONNECTED")
def convert_fully_connected(ctx: Context) -> relax.Expr:
    """Return a dense layer; unless the rank is to be kept, the data is seen as rows of K values."""
    options = ctx.options(FullyConnectedOptions)
    if options.weights_format != "DEFAULT":
        raise UnsupportedError(f"weights in the format {options.weights_format}")
    data, weight, result = ctx.input(0), ctx.weights(1), ctx.output()
    check_kernel(data.tensor, weight.tensor, result)
    scale, zero_point = per_channel(weight.tensor, 0)
    # LiteRT reads the zero point of weights with one scale, and takes it for 0 otherwise.
    if isinstance(scale, list) and zero_point != 0:
        raise QnnError(f"{weight.tensor.label} has a scale per row and a zero point that is not 0")
    if len(weight.shape) != 2:
        raise QnnError(f"{weight.tensor.label} must have 2 dimensions, got {weight.shape}")
    expr, depth = data.expr, weight.shape[1]
    if not options.keep_num_dims and (len(data.shape) != 2 or data.shape[1] != depth):
        count = math.prod(data.shape)
        if depth == 0 or count % depth:
            raise QnnError(
                f"{count} values of {data.tensor.label} are no whole rows of {depth}, "
                f"which {weight.tensor.label} takes"
            )
        expr = ctx.builder.emit(reshaped(expr, (count // depth, depth)))
    low, high = clamp_range(options.activation, result)
    return quantized_dense(
        expr,
        weight.expr,
        *data.quantization,
        scale,
        zero_point,
        *per_tensor(result),
        result.dtype,
        bias=bias_of(ctx, 2),
        out_min=low,
        out_max=high,
    )
