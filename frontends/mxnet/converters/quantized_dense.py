"""_sg_mkldnn_fully_connected: a dense layer and its activation as one operator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.mxnet import folding
from frontends.mxnet.converters.context import Context, converter
from frontends.mxnet.converters.fused import (
    FUNCTIONS,
    Activation,
    Fused,
    activated,
    convert_in_float,
    known_steps,
    read_fused,
    scaled_bias,
    weight_of,
)
from frontends.mxnet.converters.quantization import (
    Range,
    calibrated_range,
    check_quantized,
    quantized,
    range_at,
)
from frontends.mxnet.converters.quantized import (
    SUMS,
    int32_parameter,
    product_range,
    rows_of,
    saturated_int32,
)
from frontends.mxnet.scalars import Array, Number, Value, is_known, scalar
from qnn_ops import dequantize, quantized_dense
from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.errors import QnnError


@dataclass(frozen=True)
class _Dense:
    """A fused dense layer with its constants.

    Attributes:
        ctx: the operator.
        rows: the data, two-dimensional.
        weight: int8 [units, K].
        steps: float32 steps per unit of the weight, one or one per unit.
        bias: float32 whole numbers [units] in steps of the sums, or None.
        data_steps: steps per unit of the data.
        activation: the activation that follows, or None.
    """

    ctx: Context
    rows: relax.Expr
    weight: Array
    steps: Array
    bias: Number
    data_steps: Number
    activation: Activation | None

    def sums(self) -> Any:
        """Multiply data by weight and add the bias: float32 whole numbers, or int32 if known."""
        weight = self.ctx.parameter(self.weight, "_kernel")
        bias = int32_parameter(self.ctx, self.bias) if is_known(self.bias) else None
        dense = quantized_dense(self.rows, weight, *SUMS, bias=bias, rounding="onednn")
        sums = self.ctx.builder.array(self.ctx.emit(dense))
        return sums if is_known(self.bias) else sums.astype("float32") + self.bias


@converter("_sg_mkldnn_fully_connected", "_sg_onednn_fully_connected")
def convert_fused_dense(ctx: Context) -> list[Value]:
    """Return the fused dense layer, quantized or not; a range follows all results but floats."""
    if not ctx.attrs.flag("quantized", False):
        return convert_in_float(ctx)
    fused = read_fused(ctx, "FullyConnected")
    dtype = check_quantized(ctx, 0)
    is_real, calibrated = ctx.attrs.flag("enable_float_output", False), calibrated_range(ctx)
    if calibrated is None and not is_real and ctx.attrs.flag("channel_wise_quantize", False):
        # One range cannot describe sums of several scales: MXNet refuses to run it, too.
        raise UnsupportedError("weights with a scale per unit, but no calibrated range")
    data_range = range_at(ctx, len(fused.names))
    dense, weight_range = _read(ctx, fused, data_range)
    if is_real:
        return [_real(dense)]
    if calibrated is None:
        sums = dense.sums().astype("float32")
        # MXNet takes a clip's end to be in steps.
        unit = dense.data_steps * dense.steps if ctx.is_corrected else scalar(1)
        value = activated(sums, dense.activation, unit)
        return [saturated_int32(value), *product_range(dtype, data_range, weight_range)]
    return [_calibrated(dense, calibrated), *calibrated]


def _read(ctx: Context, fused: Fused, data_range: Range) -> tuple[_Dense, Range]:
    activation = _activation(fused)
    data_steps = data_range.steps_per_unit(ctx.dtype(0))
    after = len(fused.names) + 2
    if ctx.attrs.flag("channel_wise_quantize", False):
        weight, steps, bias = _per_unit(ctx, fused, data_steps)
        weight_range = Range(scalar(weight.min()), scalar(weight.max()))
        kernel = folding.quantize_weight(weight, steps)
    else:
        weight_range = range_at(ctx, after)
        bias_range = range_at(ctx, after + 2) if "bias" in fused.names else None
        kernel, steps, bias = _per_tensor(ctx, fused, data_steps, weight_range, bias_range)
    if kernel.ndim != 2 or kernel.shape[0] != fused.main.integer("num_hidden"):
        raise QnnError(f"the weight must be [num_hidden, K], got shape {kernel.shape}")
    rows = rows_of(ctx, kernel.shape[1], flatten=fused.main.flag("flatten", True))
    return _Dense(ctx, rows, kernel, steps, bias, data_steps, activation), weight_range


def _activation(fused: Fused) -> Activation | None:
    kinds = [activation.kind for activation in fused.activations]
    if len(kinds) > 1 or not set(kinds) <= set(FUNCTIONS):
        raise UnsupportedError(f"fused activations {', '.join(kinds)}")
    return next(iter(fused.activations), None)


def _per_unit(ctx: Context, fused: Fused, data_steps: Number) -> tuple[Array, Array, Number]:
    """Return weights as floats, and their steps per unit and bias as for convolutions."""
    weight, bias = weight_of(ctx, fused, "weight"), weight_of(ctx, fused, "bias")
    assert weight is not None
    steps = folding.channel_steps(weight)
    if bias is None:
        return weight, steps, None
    if is_known(data_steps):
        steps = folding.limit_steps(steps, bias, data_steps)
    factors = ctx.beside(data_steps, steps, "_steps") * data_steps
    return weight, steps, scaled_bias(ctx, bias, factors)


def _per_tensor(
    ctx: Context, fused: Fused, data_steps: Number, weight_range: Range, bias_range: Range | None
) -> tuple[Array, Array, Number]:
    """Return weights that were quantized offline, with one range for all of them."""
    kernel, steps = ctx.constant(1), weight_range.steps_per_unit("int8")
    if kernel.dtype != np.int8 or not is_known(steps):
        raise QnnError(f"the weight must be int8 of a known range, got {kernel.dtype}")
    position = fused.position("bias")
    if position is None or bias_range is None:
        return kernel, steps, None
    bias = ctx.constant(position)
    if bias.dtype != np.int8:
        raise QnnError(f"the bias must be int8, got {bias.dtype}")
    bias_steps = bias_range.steps_per_unit("int8")
    factor = data_steps * steps / bias_steps
    real = bias.astype(np.float32)
    if is_known(factor):
        most = folding.most_bias_steps(bias_range.magnitude) / bias_steps
        if factor > most:
            # Weights are tiny compared to the bias: use fewer steps, so that the bias fits int32.
            rescale = most * bias_steps / data_steps / steps
            kernel = round_half_away(kernel.astype(np.float32) * rescale).astype(np.int8)
            steps, factor = scalar(steps * rescale), most
    return kernel, steps, round_half_away(ctx.beside(factor, real, "_bias") * factor)


def _real(dense: _Dense) -> Any:
    """Return the sums as real numbers, and the activation."""
    # The real value of a step of the sums: one, or one per unit.
    factor, sums = scalar(1) / dense.data_steps / dense.steps, dense.sums()
    if is_known(factor):
        value = sums.to(dequantize(sums.expr, factor.tolist(), 0, axis=-1))
    else:
        value = sums.astype("float32") * factor
    return activated(value, dense.activation, scalar(1))


def _calibrated(dense: _Dense, calibrated: Range) -> relax.Expr:
    if dense.activation is not None:
        # Two products, each rounded: oneDNN scales the sums before the activation and after it.
        dtype = _activated_dtype(dense, dense.activation)
        return quantized(_real(dense).expr, calibrated.steps_per_unit(dtype), dtype)
    out_steps = calibrated.steps_per_unit("int8")
    factor = known_steps(out_steps / dense.data_steps / dense.steps)
    bias = None if dense.bias is None else known_steps(dense.bias)
    kernel = dense.ctx.parameter(dense.weight, "_kernel")
    encodings = (1.0, 0, factor.tolist(), 0, 1.0, 0, "int8")
    added = int32_parameter(dense.ctx, bias)
    return quantized_dense(dense.rows, kernel, *encodings, bias=added, rounding="onednn")


def _activated_dtype(dense: _Dense, activation: Activation) -> str:
    """Return the dtype of the activation: MXNet treats a LeakyReLU as a ReLU here."""
    return "int8" if activation.kind == "leaky" and dense.ctx.is_corrected else "uint8"
