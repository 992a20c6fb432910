"""_sg_mkldnn_fully_connected: a dense layer and its activation as one operator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.relax import op as R

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
    int32_parameter,
    product_range,
    rows_of,
    saturated_int32,
)
from frontends.mxnet.scalars import (
    Array,
    Value,
    divide,
    multiply,
    scalar,
)
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
    bias: Value | None
    data_steps: Value
    activation: Activation | None

    def sums(self) -> relax.Expr:
        """Multiply data by weight and add the bias: float32 whole numbers, or int32 if known."""
        weight = self.ctx.parameter(self.weight, "_kernel")
        arguments = (self.rows, weight, 1.0, 0, 1.0, 0, 1.0, 0, "int32")
        if self.bias is None or isinstance(self.bias, np.ndarray):
            bias = int32_parameter(self.ctx, self.bias)
            return self.ctx.emit(quantized_dense(*arguments, bias=bias, rounding="onednn"))
        sums = self.ctx.emit(quantized_dense(*arguments, rounding="onednn"))
        return self.ctx.emit(R.add(R.astype(sums, "float32"), self.bias))


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
        sums = R.astype(dense.sums(), "float32")
        value = activated(ctx, sums, dense.activation, _unit_of_sums(dense))
        bounds = product_range(dtype, data_range, weight_range)
        return [saturated_int32(value), bounds.low, bounds.high]
    return [_calibrated(dense, calibrated), calibrated.low, calibrated.high]


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


def _per_unit(ctx: Context, fused: Fused, data_steps: Value) -> tuple[Array, Array, Value | None]:
    """Return weights as floats, and their steps per unit and bias as for convolutions."""
    weight, bias = weight_of(ctx, fused, "weight"), weight_of(ctx, fused, "bias")
    assert weight is not None
    steps = folding.channel_steps(weight)
    if bias is None:
        return weight, steps, None
    if isinstance(data_steps, np.ndarray):
        steps = folding.limit_steps(steps, bias, data_steps)
        return weight, steps, scaled_bias(ctx, bias, steps * data_steps)
    factors = R.multiply(ctx.parameter(steps, "_steps"), data_steps)
    return weight, steps, scaled_bias(ctx, bias, factors)


def _per_tensor(
    ctx: Context,
    fused: Fused,
    data_steps: Value,
    weight_range: Range,
    bias_range: Range | None,
) -> tuple[Array, Array, Value | None]:
    """Return weights that were quantized offline, with one range for all of them."""
    kernel, steps = ctx.constant(1), weight_range.steps_per_unit("int8")
    if kernel.dtype != np.int8 or not isinstance(steps, np.ndarray):
        raise QnnError(f"the weight must be int8 of a known range, got {kernel.dtype}")
    position = fused.position("bias")
    if position is None or bias_range is None:
        return kernel, steps, None
    bias = ctx.constant(position)
    if bias.dtype != np.int8:
        raise QnnError(f"the bias must be int8, got {bias.dtype}")
    bias_steps = bias_range.steps_per_unit("int8")
    factor = divide(multiply(data_steps, steps), bias_steps)
    real = bias.astype(np.float32)
    if isinstance(factor, np.ndarray) and isinstance(bias_steps, np.ndarray):
        most = folding.most_bias_steps(bias_range.magnitude) / bias_steps
        if factor > most:
            # Weights are tiny compared to the bias: use fewer steps, so that the bias fits int32.
            rescale = most * bias_steps / data_steps / steps
            kernel = round_half_away(kernel.astype(np.float32) * rescale).astype(np.int8)
            steps, factor = scalar(steps * rescale), most
        return kernel, steps, round_half_away(real * factor)
    scaled = ctx.emit(R.multiply(ctx.parameter(real, "_bias"), factor))
    # std::round; adding a half to a float32 that is a whole number except for its last bits rounds.
    whole = ctx.emit(R.trunc(scaled))
    is_far = R.astype(R.greater_equal(R.abs(R.subtract(scaled, whole)), _half()), "float32")
    return kernel, steps, R.add(whole, R.multiply(is_far, R.sign(scaled)))


def _half() -> relax.Expr:
    return relax.const(0.5, "float32")


def _factor(dense: _Dense) -> Value:
    """Return the real value of a step of the sums: one, or one per unit."""
    return divide(divide(scalar(1), dense.data_steps), dense.steps)


def _real(dense: _Dense) -> relax.Expr:
    """Return the sums as real numbers, and the activation."""
    factor, sums = _factor(dense), dense.sums()
    if isinstance(factor, np.ndarray):
        scale = factor.tolist()
        value = dequantize(sums, scale, 0, axis=-1)
    else:
        value = R.multiply(R.astype(sums, "float32"), factor)
    return activated(dense.ctx, value, dense.activation, scalar(1))


def _unit_of_sums(dense: _Dense) -> Value:
    """Return a unit in steps of uncalibrated sums; MXNet takes a clip's end to be in steps."""
    if not dense.ctx.is_corrected:
        return scalar(1)
    return multiply(dense.data_steps, dense.steps)


def _calibrated(dense: _Dense, calibrated: Range) -> relax.Expr:
    if dense.activation is not None:
        # Two products, each rounded: oneDNN scales the sums before the activation and after it.
        dtype = _activated_dtype(dense, dense.activation)
        return quantized(dense.ctx.emit(_real(dense)), calibrated.steps_per_unit(dtype), dtype)
    out_steps = calibrated.steps_per_unit("int8")
    factor = known_steps(divide(divide(out_steps, dense.data_steps), dense.steps))
    bias = None if dense.bias is None else known_steps(dense.bias)
    return quantized_dense(
        dense.rows,
        dense.ctx.parameter(dense.weight, "_kernel"),
        1.0,
        0,
        factor.tolist(),
        0,
        1.0,
        0,
        "int8",
        bias=int32_parameter(dense.ctx, bias),
        rounding="onednn",
    )


def _activated_dtype(dense: _Dense, activation: Activation) -> str:
    """Return the dtype of the activation: MXNet treats a LeakyReLU as a ReLU here."""
    return "int8" if activation.kind == "leaky" and dense.ctx.is_corrected else "uint8"
