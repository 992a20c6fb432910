"""Convolutions of rows, images and volumes, transposed convolutions, and pools.

Rows are images one pixel high. The planes of a volume's window are channels of an image. XNNPACK's
transposed convolutions are convolutions of images with gaps between the pixels. A maximum is taken
of the integers. A mean is taken over windows or whole images.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.qdq.group import (
    RUNTIMES,
    Group,
    LeftInFloatError,
    NoRuleError,
    Operand,
    biased,
    check_axis,
    check_weights,
    one_point,
    operator_name,
    rule,
)
from qnn_ops import dequantize, quantized_conv2d, quantized_mean, quantized_pad, quantized_pool2d
from qnn_ops.arithmetic.xnnpack import XNNPACK
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import as_const, constant_of, spec_of


@biased("nn.conv2d", arithmetics=tuple(RUNTIMES))
def _conv2d(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    attrs, layouts = call.attrs, ("data_layout", "kernel_layout", "out_layout")
    window: dict[str, Any] = {name: str(getattr(attrs, name)) for name in layouts}
    window |= {name: sizes_of(attrs, name) for name in ("strides", "padding", "dilation")}
    return convolution(group, operands_of(group, call), bias, call, window)


def sizes_of(attrs: Any, name: str) -> list[int]:
    """Return an attribute with a number for each axis."""
    return [int(size) for size in getattr(attrs, name)]


def operands_of(group: Group, call: relax.Call) -> tuple[Operand, Operand]:
    """Return data and weights, which fit each other."""
    data, weights = group.activation(call.args[0]), group.quantized(call.args[1])
    check_weights(data, weights)
    check_axis(weights, str(call.attrs.kernel_layout).index("O"), "output channels")
    return data, weights


def reshaped(group: Group, weights: Operand, shape: tuple[int, ...]) -> Operand:
    """Return weights, whose channels come first, in another shape."""
    array = constant_of(weights.data)
    if array is None:
        moved = group.builder.emit(relax.op.reshape(weights.data, shape))
    else:
        moved = as_const(array.reshape(shape))
    return replace(weights, data=moved, axis=0)


def convolution(
    group: Group,
    operands: tuple[Operand, Operand],
    bias: relax.Expr | None,
    call: relax.Call,
    window: dict[str, Any],
) -> relax.Expr:
    """Convolve images.

    Args:
        group: the convolution's group.
        operands: data and weights.
        bias: the bias, or None.
        call: the float convolution.
        window: attributes of ``quantized_conv2d``.
    """
    data, weights = operands
    extra: dict[str, Any] = {}
    if bias is not None:
        group.check_bias(bias, data, weights)
        channels = spec_of(weights.data).shape[str(window["kernel_layout"]).index("O")]
        extra["bias"] = relax.const(group.bias(bias, data, weights, channels), "int32")
    return quantized_conv2d(
        data.data,
        weights.data,
        **data.named("input"),
        kernel_scale=weights.scale,
        kernel_zero_point=one_point(weights),
        **group.result(),
        groups=int(call.attrs.groups),
        **window,
        rounding="float32",
        **extra,
    )


def _of_images(strides: list[int], padding: list[int], dilation: list[int]) -> dict[str, Any]:
    """Return the attributes of a window over images whose channels are first."""
    sizes = {"strides": strides, "padding": padding, "dilation": dilation}
    return {**sizes, "data_layout": "NCHW", "kernel_layout": "OIHW"}


@biased("nn.conv1d", arithmetics=tuple(RUNTIMES))
def _conv1d(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    data, weights = operands_of(group, call)
    attrs = call.attrs
    if (str(attrs.data_layout), str(attrs.kernel_layout)) != ("NCW", "OIW"):
        raise NoRuleError("rows must have their channels first")
    units, depth, taps = spec_of(weights.data).shape
    image = replace(data, data=group.builder.emit(R.expand_dims(data.data, [2])))
    before, after = sizes_of(attrs, "padding")
    strides, dilation = ([1, *sizes_of(attrs, name)] for name in ("strides", "dilation"))
    window = _of_images(strides, [0, before, 0, after], dilation)
    weights = reshaped(group, weights, (units, depth, 1, taps))
    return R.squeeze(
        group.builder.emit(convolution(group, (image, weights), bias, call, window)), [2]
    )


@biased("nn.conv2d_transpose", arithmetics=[XNNPACK])
def _conv2d_transpose(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    attrs, emit = call.attrs, group.builder.emit
    data, weights = operands_of(group, call)
    array = constant_of(weights.data)
    if array is None or int(attrs.groups) != 1:
        raise NoRuleError("its weights must be constant, and of one group")
    strides, dilation = sizes_of(attrs, "strides"), sizes_of(attrs, "dilation")
    top, left, bottom, right = sizes_of(attrs, "padding")
    reach = [step * (size - 1) for step, size in zip(dilation, array.shape[2:], strict=True)]
    extra = sizes_of(attrs, "output_padding")
    padding = [
        *(reach[0] - top, reach[1] - left),
        *(reach[0] - bottom + extra[0], reach[1] - right + extra[1]),
    ]
    if min(padding) < 0:
        raise NoRuleError("it pads by more than its window reaches")
    batch, channels, height, width = spec_of(data.data).shape
    spread = emit(R.reshape(data.data, (batch, channels, height, 1, width, 1)))
    widths = [0] * 6 + [0, strides[0] - 1] + [0, 0] + [0, strides[1] - 1]
    spread = emit(quantized_pad(spread, widths, int(data.encoding[1])))
    image = emit(R.reshape(spread, (batch, channels, height * strides[0], width * strides[1])))
    ends = [(height - 1) * strides[0] + 1, (width - 1) * strides[1] + 1]
    image = emit(R.strided_slice(image, [2, 3], [0, 0], ends))
    turned = np.ascontiguousarray(array.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    window = _of_images([1, 1], padding, dilation)
    kernel = replace(weights, data=as_const(turned), axis=_axis(weights.axis))
    return convolution(group, (replace(data, data=image), kernel), bias, call, window)


def _axis(axis: int) -> int:
    """Return the axis of the transposed weights' channels; none if there is one scale."""
    return 0 if axis == 1 else axis


@biased("nn.conv3d")
def _conv3d(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    data, weights = operands_of(group, call)
    attrs, emit = call.attrs, group.builder.emit
    if (str(attrs.data_layout), str(attrs.kernel_layout)) != ("NCDHW", "OIDHW"):
        raise NoRuleError("volumes must have their channels first")
    units, depth, planes, *taps = spec_of(weights.data).shape
    strides, dilation = sizes_of(attrs, "strides"), sizes_of(attrs, "dilation")
    front, top, left, back, bottom, right = sizes_of(attrs, "padding")
    volume = data.data
    if front or back:
        widths = [0, 0, 0, 0, front, back, 0, 0, 0, 0]
        volume = emit(quantized_pad(volume, widths, int(data.encoding[1])))
    batch, channels, size, *image = spec_of(volume).shape
    count = (size - (planes - 1) * dilation[0] - 1) // strides[0] + 1
    if count < 1:
        raise NoRuleError("its window is larger than its data")

    def plane(number: int) -> relax.Expr:
        """Return the data's planes that a plane of the window covers: [N, C, 1, count, H, W]."""
        begin = number * dilation[0]
        end = begin + (count - 1) * strides[0] + 1
        part = emit(R.strided_slice(volume, [2], [begin], [end], [strides[0]]))
        return emit(R.expand_dims(part, [2]))

    stacked = emit(R.concat([plane(number) for number in range(planes)], 2))
    ordered = emit(R.permute_dims(stacked, [0, 3, 1, 2, 4, 5]))
    images = emit(R.reshape(ordered, (batch * count, channels * planes, *image)))
    window = _of_images(strides[1:], [top, left, bottom, right], dilation[1:])
    operands = replace(data, data=images), reshaped(group, weights, (units, depth * planes, *taps))
    result = emit(convolution(group, operands, bias, call, window))
    shape = spec_of(result).shape
    volume = emit(R.reshape(result, (batch, count, *shape[1:])))
    return R.permute_dims(volume, [0, 2, 1, 3, 4])


@rule("nn.max_pool2d", arithmetics=tuple(RUNTIMES))
@rule("nn.max_pool3d")
def _max_pool(group: Group, call: relax.Call) -> relax.Expr:
    data, attrs = group.activation(call.args[0]), call.attrs
    if data.encoding != group.encoding:
        raise LeftInFloatError("a maximum's result has not its data's scale and zero point")
    is_image = len(spec_of(data.data).shape) == 4
    if not is_image or bool(attrs.ceil_mode) or any(int(step) != 1 for step in attrs.dilation):
        return relax.Call(call.op, [data.data], call.attrs, call.ty_args)
    return quantized_pool2d(
        data.data,
        "max",
        sizes_of(attrs, "pool_size"),
        sizes_of(attrs, "strides"),
        sizes_of(attrs, "padding"),
        str(attrs.layout),
    )


@rule("nn.avg_pool2d", "nn.avg_pool3d")
def _average_pool(group: Group, call: relax.Call) -> relax.Expr:
    """Add up dequantized values in float32; the result's zero point is added before rounding.

    A window of the size of the image is a global average.
    """
    call = _with_padding(group, call)
    data, attrs = group.activation(call.args[0]), call.attrs
    if bool(attrs.ceil_mode) or any(int(step) != 1 for step in attrs.dilation):
        raise NoRuleError("an average of windows with dilations, or whose size is rounded up")
    axes = [place for place, letter in enumerate(str(attrs.layout)) if letter in "DHW"]
    image = [spec_of(data.data).shape[axis] for axis in axes]
    if not any(map(int, attrs.padding)) and [int(size) for size in attrs.pool_size] == image:
        return _averaged(group, data, axes)
    emit = group.builder.emit
    real = emit(dequantize(data.data, data.scale, data.zero_point))
    mean = emit(relax.Call(call.op, [real], attrs, call.ty_args))
    scale, point, dtype = group.encoding
    steps = emit(R.divide(mean, relax.const(np.float32(scale))))
    low, high = dtype_range(dtype)
    moved = R.round(R.add(steps, relax.const(np.float32(point))))
    return R.astype(R.clip(moved, low, high), dtype)


def _with_padding(group: Group, call: relax.Call) -> relax.Call:
    """Return an average over a padded image in which all padding counts, stated or not.

    ONNX Runtime's float operator divides by the pixels within the stated padding, and its integer
    operator by the whole window.
    """
    padded, attrs = group.value(call.args[0]), call.attrs
    if operator_name(padded) != "relax.nn.pad":
        return call
    rank = len(attrs.pool_size)
    axes = [place for place, letter in enumerate(str(attrs.layout)) if letter in "DHW"]
    widths = [int(size) for size in padded.attrs.pad_width]
    inner = [widths[2 * axis + side] for side in (0, 1) for axis in axes]
    padding = [int(size) + more for size, more in zip(attrs.padding, inner, strict=True)]
    operator = {2: R.nn.avg_pool2d, 3: R.nn.avg_pool3d}[rank]
    sizes = sizes_of(attrs, "pool_size"), sizes_of(attrs, "strides"), padding
    return operator(padded.args[0], *sizes, layout=str(attrs.layout), count_include_pad=True)


@rule("nn.avg_pool1d")
def _avg_pool1d(_group: Group, _call: relax.Call) -> relax.Expr:
    raise NoRuleError("an average of rows")


@rule("mean", arithmetics=tuple(RUNTIMES))
def _mean(group: Group, call: relax.Call) -> relax.Expr:
    """Average images: ONNX's GlobalAveragePool, of any rank, or XNNPACK's mean of two axes."""
    rank = len(spec_of(call.args[0]).shape)
    axes = sorted(int(axis) % rank for axis in call.attrs.axis or ())
    if group.arithmetic == XNNPACK:
        is_image = rank == 4 and axes == [2, 3]
    else:
        is_image = rank > 2 and axes in (list(range(2, rank)), list(range(1, rank - 1)))
    if not is_image or not bool(call.attrs.keepdims):
        raise LeftInFloatError("a mean is not of images, or drops their axes")
    return _averaged(group, group.activation(call.args[0]), axes)


@rule("nn.adaptive_avg_pool2d", arithmetics=[XNNPACK])
def _adaptive_avg_pool2d(group: Group, call: relax.Call) -> relax.Expr:
    if [int(size) for size in call.attrs.output_size or ()] != [1, 1]:
        raise LeftInFloatError("an average is not of whole images")
    return _averaged(group, group.activation(call.args[0]), [2, 3])


def _averaged(group: Group, data: Operand, axes: list[int]) -> relax.Expr:
    encodings = {**data.named("input"), **group.result()}
    return quantized_mean(data.data, axes, True, **encodings, arithmetic=group.arithmetic)
