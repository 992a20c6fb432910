"""_sg_mkldnn_conv: convolution, batch normalization, activations and a sum as one operator."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet import folding
from frontends.mxnet.converters.context import Context, converter
from frontends.mxnet.converters.fused import (
    Activation,
    Fused,
    activated,
    convert_in_float,
    known_steps,
    read_fused,
    scaled_bias,
    weight_of,
)
from frontends.mxnet.converters.layers import pair, window_of
from frontends.mxnet.converters.quantization import (
    Range,
    calibrated_range,
    check_quantized,
    quantized,
    range_at,
)
from frontends.mxnet.converters.quantized import bias_array, product_range, saturated_int32
from frontends.mxnet.scalars import Array, Number, Value, scalar, to_expr
from qnn_ops import fused_multiply_add, quantized_conv2d
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError

# Activations that are the clamp of a uint8 result.
_RECTIFIERS = ("relu", "clip")
_FLAGS = {"with_act": "with_relu", "with_postsum_act": "with_postsum_relu"}


@dataclass(frozen=True)
class _Convolution:
    """A fused convolution, read from its attributes and constants.

    Attributes:
        ctx: the operator.
        attrs: the arguments of the convolution itself, for ``quantized_conv2d``.
        weight: float32 [O, I, H, W], with the batch normalization folded.
        bias: float32 [O], with the batch normalization folded, or None.
        data_range: the data's range.
        first: the activation before the sum, or None.
        last: the activation after the sum, or None.
        addend: the index of the input that is added, and its range; or None.
    """

    ctx: Context
    attrs: dict[str, Any]
    weight: Array
    bias: Array | None
    data_range: Range
    first: Activation | None
    last: Activation | None
    addend: tuple[int, Range] | None

    @property
    def out_dtype(self) -> str:
        """The stated dtype of the result: it follows the activation, not the sign of the range."""
        is_rectified = self.first is not None and self.first.kind in _RECTIFIERS
        is_unsigned = (is_rectified and self.addend is None) or self.last is not None
        return "uint8" if is_unsigned else "int8"

    @property
    def data_steps(self) -> Number:
        """Steps per unit of the data."""
        return self.data_range.steps_per_unit(self.ctx.dtype(0))

    def call(
        self, kernel: Array, bias: Array | None, scale: Any, dtype: str, **others: Any
    ) -> relax.Expr:
        """Return the convolution with quantized weights and bias."""
        weights = self.ctx.parameter(kernel, "_kernel")
        added = None if bias is None else self.ctx.parameter(bias, "_bias")
        # The scales are in units of a step of the result: only MXNet's own float32 multiplier is
        # right, and a quotient of three scales might differ from it.
        encodings = (1.0, 0, scale, 0, 1.0, 0, dtype)
        others |= self.attrs
        return quantized_conv2d(self.ctx.expr(0), weights, *encodings, bias=added, **others)


@converter("_sg_mkldnn_conv", "_sg_onednn_conv")
def convert_fused_convolution(ctx: Context) -> list[Value]:
    """Return the fused convolution, quantized or not; its second and third result are the range."""
    if not ctx.attrs.flag("quantized", False):
        return convert_in_float(ctx)
    convolution = _read(ctx)
    calibrated = calibrated_range(ctx)
    if calibrated is None:
        return _uncalibrated(convolution)
    return [_calibrated(convolution, calibrated), *calibrated]


def _read(ctx: Context) -> _Convolution:
    fused = read_fused(ctx, "Convolution")
    check_quantized(ctx, 0)
    if ctx.rank != 4 or fused.main.text("layout", "NCHW") != "NCHW":
        raise UnsupportedError("only images of layout NCHW are supported")
    weight, bias = _folded(ctx, fused)
    main = replace(ctx, attrs=fused.main)
    if weight.shape[2:] != (size := pair(main, "kernel", None, 1)):
        raise QnnError(f"the weight's window is {weight.shape[2:]}, attribute kernel {size}")
    first, last = _activations(ctx, fused)
    position, after = fused.position("sum"), len(fused.names)
    if bool(position) != ctx.attrs.flag("with_sum", False):
        raise QnnError("attribute with_sum does not agree with the subgraph")
    addend = None
    if position is not None:
        check_quantized(ctx, position)
        addend = position, range_at(ctx, after + 2)
    constants = window_of(main), weight, bias, range_at(ctx, after)
    return _Convolution(ctx, *constants, first, last, addend)


def _folded(ctx: Context, fused: Fused) -> tuple[Array, Array | None]:
    weight, bias = weight_of(ctx, fused, "weight"), weight_of(ctx, fused, "bias")
    assert weight is not None
    filters = fused.main.integer("num_filter")
    if weight.ndim != 4 or len(weight) != filters:
        raise QnnError(f"the weight must be [{filters}, I, H, W], got shape {weight.shape}")
    vectors = [weight_of(ctx, fused, name) for name in ("gamma", "beta", "mean", "variance")]
    for vector in (bias, *vectors):
        if vector is not None and vector.shape != (filters,):
            raise QnnError(f"a constant must have shape ({filters},), got {vector.shape}")
    gamma, beta, mean, variance = vectors
    if fused.batch_norm is None or gamma is None or beta is None:
        return weight, bias
    assert mean is not None
    assert variance is not None
    if fused.batch_norm.flag("fix_gamma", True):
        gamma = np.ones_like(gamma)
    eps = fused.batch_norm.real("eps", 1e-3)
    return folding.fold_batch_norm(weight, bias, gamma, beta, mean, variance, eps)


def _activations(ctx: Context, fused: Fused) -> tuple[Activation | None, Activation | None]:
    """Return the activations before and after the sum."""
    has_first, has_last = (_flag(ctx, name) for name in _FLAGS)
    rest = list(fused.activations)
    if len(rest) != has_first + has_last:
        raise QnnError("with_act and with_postsum_act do not agree with the subgraph")
    first = rest.pop(0) if has_first else None
    last = rest.pop(0) if has_last else None
    for activation, allowed in ((first, (*_RECTIFIERS, "leaky")), (last, _RECTIFIERS)):
        if activation is not None and activation.kind not in allowed:
            raise UnsupportedError(f"fused activation {activation.kind}")
    return first, last


def _flag(ctx: Context, name: str) -> bool:
    """Return a flag under its name or under that of older files."""
    return ctx.attrs.flag(name, False) or ctx.attrs.flag(_FLAGS[name], False)


def _calibrated(conv: _Convolution, calibrated: Range) -> relax.Expr:
    data_steps = known_steps(conv.data_steps)
    out_steps = known_steps(calibrated.steps_per_unit(conv.out_dtype))
    steps = folding.channel_steps(conv.weight)
    if conv.bias is not None:
        steps = folding.limit_steps(steps, conv.bias, data_steps)
    kernel = folding.quantize_weight(conv.weight, _weight_steps(conv, steps))
    bias = np.zeros(len(steps), np.int32)
    if conv.bias is not None:
        bias = folding.quantize_bias(conv.bias, steps * data_steps)
    factors = (out_steps / data_steps / steps).astype(np.float32)
    if conv.first is not None and conv.first.kind == "leaky":
        return _leaky(conv, kernel, bias, factors)
    return _rounded(conv, kernel, bias, factors, out_steps)


def _weight_steps(conv: _Convolution, steps: Array) -> Array:
    """Return the steps that quantize the weights: in groups, MXNet uses other channels' steps."""
    channels, groups = len(steps), conv.attrs["groups"]
    if conv.ctx.is_corrected or not 1 < groups < channels:
        return steps
    return steps[np.arange(channels) // (channels // groups)]


def _rounded(
    conv: _Convolution, kernel: Array, bias: Array, factors: Array, out_steps: Array
) -> relax.Expr:
    ctx = conv.ctx
    dtype, others = _stored(conv, out_steps)
    if conv.addend is not None:
        position, bounds = conv.addend
        addend_steps = bounds.steps_per_unit(ctx.dtype(position))
        factor = known_steps(out_steps / addend_steps, "sum")
        others["addend"] = ctx.expr(position)
        others["addend_scale"] = float(factor)
        others["relu_before_addend"] = conv.first is not None and conv.first.kind == "relu"
    result = conv.call(kernel, bias, factors.tolist(), dtype, rounding="onednn", **others)
    # Readers take these bits of uint8 for int8.
    return result if dtype == conv.out_dtype else R.astype(ctx.emit(result), conv.out_dtype)


def _stored(conv: _Convolution, out_steps: Array) -> tuple[str, dict[str, Any]]:
    """Return the result's dtype when it is rounded, and its bounds.

    With a sum MXNet stores the result over the other term, in that term's dtype, and then reads the
    bits in the result's dtype. MXNet leaves a clip to saturation, which comes too late if a later
    concatenation has widened the range.
    """
    dtype = conv.out_dtype
    if conv.ctx.is_corrected:
        return dtype, {} if conv.addend is not None else _end_of_clip(conv, out_steps)
    if conv.addend is None:
        return dtype, {}
    stored = conv.ctx.dtype(conv.addend[0])
    if dtype == "uint8" and stored == "int8":
        # A rectified result uses only the upper half of int8, which uint8 has, too.
        return dtype, {"out_max": 127}
    return stored, {}


def _end_of_clip(conv: _Convolution, out_steps: Array) -> dict[str, Any]:
    if conv.first is None or conv.first.kind != "clip":
        return {}
    end = np.rint(scalar(conv.first.attrs.real("a_max")) * out_steps)
    return {"out_max": int(np.clip(end, *dtype_range("uint8")))}


def _leaky(conv: _Convolution, kernel: Array, bias: Array, factors: Array) -> relax.Expr:
    ctx = conv.ctx
    if conv.addend is not None:
        raise UnsupportedError("a fused LeakyReLU before a sum")
    assert conv.first is not None
    sums = conv.call(kernel, bias, 1.0, "int32", rounding="onednn")
    factor = ctx.parameter(factors.reshape(-1, 1, 1), "_factors")
    value = ctx.builder.array(sums).astype("float32") * ctx.builder.array(factor)
    return quantized(activated(value, conv.first, scalar(1)).expr, scalar(1), "int8")


def _uncalibrated(conv: _Convolution) -> list[Value]:
    """Return sums of 32 bits; their range follows from the ranges of data and weight."""
    ctx = conv.ctx
    weight_range = Range(scalar(conv.weight.min()), scalar(conv.weight.max()))
    weight_steps = weight_range.steps_per_unit("int8")
    steps = conv.data_steps * weight_steps
    kernel = folding.quantize_weight(conv.weight, weight_steps)
    sums = conv.call(kernel, None, 1.0, "int32", rounding="tflite")
    value = ctx.builder.array(ctx.emit(sums)).astype("float32")
    if conv.bias is not None:
        bias = scaled_bias(ctx, conv.bias.reshape(-1, 1, 1), steps)
        value = value + bias_array(ctx, bias)
    value = _activate(conv, value, conv.first, steps)
    if conv.addend is not None:
        position, added = conv.addend
        addend_steps = added.steps_per_unit(ctx.dtype(position))
        addend = ctx.builder.array(ctx.expr(position)).astype("float32")
        factor = ctx.emit(to_expr(steps / addend_steps))
        value = value.to(fused_multiply_add(addend.expr, factor, value.expr))
        value = _activate(conv, value, conv.last, steps)
    bounds = product_range(ctx.dtype(0), weight_range, conv.data_range)
    return [saturated_int32(value), *bounds]


def _activate(conv: _Convolution, value: Any, activation: Activation | None, steps: Number) -> Any:
    # MXNet leaves the clip to saturation, but its sums of 32 bits do not saturate there.
    if activation is not None and activation.kind == "clip" and not conv.ctx.is_corrected:
        return value if activation is conv.first else value.to(R.nn.relu(value.expr))
    return activated(value, activation, steps)
