"""Two-dimensional convolution of quantized tensors."""

import math
from functools import partial
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.accumulator_bounds import Weights
from qnn_ops.arithmetic.float_epilogue import check_addend
from qnn_ops.arithmetic.rounding import SUM_ROUNDINGS
from qnn_ops.arithmetic.sums import (
    check_result,
    check_sum_types,
    check_sums,
    conv_factor,
    is_wide,
    result_of_sums,
)
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.checks import check_quantization
from qnn_ops.dialect.layouts import permutation, reorder
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.dialect.sizes import least
from qnn_ops.dialect.traits import Channels, rescaling
from qnn_ops.dialect.windows import counts_of, windows_of
from qnn_ops.errors import QnnError


def _has_addend(given: declared.Given) -> bool:
    return given["addend"] is not None


@operator(
    traits=rescaling(
        {"quantized_data": "input_zero_point", "addend": "addend_zero_point"},
        Channels.CONVOLUTION,
        clamps=True,
    ),
)
def quantized_conv2d(
    quantized_data: declared.Images,
    quantized_kernel: declared.Kernel,
    input_scale: declared.InputScale,
    input_zero_point: declared.InputZeroPoint,
    kernel_scale: declared.KernelScale,
    kernel_zero_point: declared.KernelZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    strides: declared.Strides = (1, 1),
    padding: declared.Padding = (0, 0),
    dilation: declared.Dilation = (1, 1),
    groups: declared.Int = 1,
    channels: declared.OptionalInt = None,
    kernel_size: declared.OptionalSize = None,
    data_layout: declared.Layout = "NCHW",
    kernel_layout: declared.KernelLayout = "OIHW",
    out_layout: declared.OutLayout = "",
    *,
    bias: relax.Expr | None = None,
    out_min: declared.OutMin = None,
    out_max: declared.OutMax = None,
    rounding: Annotated[str, declared.choice(*SUM_ROUNDINGS)] = "tflite",
    addend: relax.Expr | None = None,
    addend_scale: Annotated[float, declared.scale("", needed=_has_addend)] = 1.0,
    addend_zero_point: Annotated[int, declared.zero_point("", needed=_has_addend)] = 0,
    relu_before_addend: Annotated[
        bool, declared.Attribute(declared.flag, needed=_has_addend)
    ] = False,
) -> None:
    """Convolve quantized data with a quantized kernel.

    The integer sum over the window is Σ(data - input_zero_point)(kernel - kernel_zero_point) +
    bias in int32 (wrapping, as the frameworks' int32 does). Padded positions hold the input zero
    point, so they add nothing. The sum is multiplied by input_scale * kernel_scale / output_scale,
    rounded as ``rounding`` says, offset by the output zero point and clamped.

    Source of the arithmetic: TFLite's reference CONV_2D and DEPTHWISE_CONV_2D. As there, the
    product of input and kernel scale is rounded to float32 for uint8 kernels and kept in float64
    for int8 kernels. With rounding "float32" product and quotient of the scales are float32, as in
    ONNX Runtime.

    With rounding "onednn" sum and bias are converted to float32 separately and then added. Their
    product with the multiplier is a float32. A fused multiply-add may add another tensor to it. The
    result is rounded once, half to even. Source: oneDNN's int8 convolutions as MXNet uses them; see
    qnn_ops.arithmetic.float_epilogue.

    Sums of int16 data are 64 bits wide, or wrap in 32 bits if the bias is int32. Sums of 64 bits
    are scaled with 15 bits of the multiplier: see multiply_by_reduced_multiplier of
    qnn_ops.arithmetic.fixed_point.

    Args:
        quantized_data: int8, uint8 or int16, [N, H, W, C] or [N, C, H, W].
        quantized_kernel: int8 or uint8, O output channels by I = C / groups input channels by
            the window, in the order of ``kernel_layout``.
        output_scale: real value of one step of the result; unused for int32 results.
        output_zero_point: the result's value that means 0; unused for int32 results.
        out_dtype: int8 or uint8, or int32 for the sum itself; int16 for int16 data.
        groups: the number of groups of channels; C for a depthwise convolution, whose output
            channel c * M + m belongs to input channel c (M: channel multiplier).
        channels: O; if given, it is checked against the kernel's shape.
        kernel_size: the window's height and width; if given, it is checked against the kernel's
            shape.
        bias: int32 [O], for int16 data int32 or int64, in steps of input_scale * kernel_scale.
        rounding: "tflite", "upward", "float32" or "float64", see qnn_ops.arithmetic.rounding; or
            "onednn"; for 64-bit sums "reduced" or "float64".
        addend: int8 or uint8, shaped as the result; needs rounding "onednn" and a bias.
        addend_scale: real value of one step of the addend.
        addend_zero_point: the addend's value that means 0.
        relu_before_addend: whether negative numbers become zero before the addend is added.

    Returns:
        A call whose result has ``out_dtype`` and the layout ``out_layout``.
    """


# LiteRT's largest stride and dilation; and the most pixels that an int32 counts.
_LARGEST_STEP, _MOST_PIXELS = 2**15 - 1, 2**31 - 1


@quantized_conv2d.type_rule
def _type(
    attrs: Attrs,
    data: TensorSpec,
    kernel: TensorSpec,
    bias: TensorSpec | None = None,
    addend: TensorSpec | None = None,
) -> TensorSpec:
    batch, height, width, in_channels = reorder(data.shape, attrs.data_layout, "NHWC")
    out_channels, *window, kernel_channels = reorder(kernel.shape, attrs.kernel_layout, "OHWI")
    _check_channels(attrs, in_channels, out_channels, kernel_channels)
    if tuple(getattr(attrs, "kernel_size", window)) != tuple(window):
        raise QnnError(f"kernel_size is {attrs.kernel_size}, the kernel's window is {window}")
    check_quantization("input", attrs.input_scale, attrs.input_zero_point, data.dtype)
    check_quantization(
        "kernel", attrs.kernel_scale, attrs.kernel_zero_point, kernel.dtype, out_channels
    )
    if bias is not None and bias.shape != (out_channels,):
        raise QnnError(f"bias must have shape ({out_channels},), got {bias.shape}")
    check_sum_types(attrs, data, kernel, bias)
    check_result(attrs, conv_factor, kernel.dtype)
    counts = counts_of(attrs, (height, width), window)
    _check_sizes(attrs, batch * in_channels, height, width)
    shape = reorder((batch, *counts, out_channels), "NHWC", attrs.out_layout)
    result = TensorSpec(shape, attrs.out_dtype)
    check_addend(attrs, addend, result)
    return result


def _check_sizes(attrs: Attrs, planes: int, height: int, width: int) -> None:
    for name in ("strides", "dilation"):
        steps = tuple(getattr(attrs, name))
        if max(steps) > _LARGEST_STEP:
            raise QnnError(f"{name} must be at most {_LARGEST_STEP}, got {steps}")
    top, left, bottom, right = attrs.padding
    padded = planes * (height + top + bottom) * (width + left + right)
    if least(padded) > _MOST_PIXELS:
        raise QnnError(f"the padded data must have at most {_MOST_PIXELS} values, got {padded}")


def _check_channels(attrs: Attrs, in_channels: int, out_channels: int, per_group: int) -> None:
    groups = attrs.groups
    if not out_channels:
        raise QnnError("quantized_kernel has no output channels")
    if groups < 1 or in_channels % groups or out_channels % groups:
        raise QnnError(
            f"groups must divide the {in_channels} input and {out_channels} output channels, "
            f"got {groups}"
        )
    if per_group * groups != in_channels:
        raise QnnError(
            f"quantized_kernel takes {per_group} input channels in each of {groups} groups, "
            f"quantized_data has {in_channels} channels"
        )
    if getattr(attrs, "channels", out_channels) != out_channels:
        raise QnnError(f"channels is {attrs.channels}, the kernel has {out_channels}")


@quantized_conv2d.reference
def _reference(
    attrs: Attrs,
    data: Array,
    kernel: Array,
    bias: Array | None = None,
    addend: Array | None = None,
) -> Array:
    kernel_ohwi = kernel.transpose(permutation(attrs.kernel_layout, "OHWI"))
    values = data.transpose(permutation(attrs.data_layout, "NHWC")).astype(np.int64)
    weights = kernel_ohwi.astype(np.int64) - np.reshape(attrs.kernel_zero_point, (-1, 1, 1, 1))
    sums = _convolve(attrs, values - attrs.input_zero_point, weights)
    if addend is not None:
        addend = addend.transpose(permutation(attrs.out_layout, "NHWC"))
    wide = is_wide(str(data.dtype), None if bias is None else str(bias.dtype))
    factor = conv_factor(attrs, str(kernel.dtype))
    result = result_of_sums(attrs, sums, bias, factor, addend, wide=wide)
    return np.ascontiguousarray(result.transpose(permutation("NHWC", attrs.out_layout)))


def _convolve(attrs: Attrs, data: Array, kernel: Array) -> Array:
    """Convolve integers exactly, NHWC by OHWI, in groups; padding adds zeros."""
    out_channels, height, width, per_group = kernel.shape
    windows = windows_of(attrs, data, (height, width))
    groups = attrs.groups
    batch, out_height, out_width = windows.shape[:3]
    # float64 sums of 8-bit products are exact for any window, and numpy computes them fast.
    left_side = windows.reshape(batch, out_height, out_width, groups, per_group, height, width)
    left_side = left_side.transpose(3, 0, 1, 2, 5, 6, 4).reshape(
        groups, batch * out_height * out_width, height * width * per_group
    )
    right_side = kernel.reshape(groups, out_channels // groups, height * width * per_group)
    sums = left_side.astype(np.float64) @ right_side.transpose(0, 2, 1).astype(np.float64)
    return (
        sums.astype(np.int64).transpose(1, 0, 2).reshape(batch, out_height, out_width, out_channels)
    )


@quantized_conv2d.overflow_rule
def _overflow(
    attrs: Attrs, known: Known, data: TensorSpec, kernel: TensorSpec, *others: TensorSpec
) -> str:
    channels, *sizes = reorder(kernel.shape, attrs.kernel_layout, "OHWI")

    def read() -> Array:
        return known(1).transpose(permutation(attrs.kernel_layout, "OHWI"))

    return check_sums(
        attrs,
        data,
        Weights(channels, math.prod(sizes), kernel.dtype, attrs.kernel_zero_point, read),
        partial(known, 2) if others else None,
        conv_factor,
    )
