"""Pools: MaxPool on the integers, means of windows and images, and XNNPACK's means."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.qdq.group import (
    RUNTIMES,
    Group,
    LeftInFloatError,
    NoRuleError,
    Operand,
    operator_name,
    rule,
)
from qnn_ops import dequantize, quantized_mean, quantized_pool2d
from qnn_ops.attributes import dtype_range
from qnn_ops.registry import spec_of
from qnn_ops.xnnpack import XNNPACK


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
        [int(size) for size in attrs.pool_size],
        [int(size) for size in attrs.strides],
        [int(size) for size in attrs.padding],
        str(attrs.layout),
    )


@rule("nn.avg_pool2d", "nn.avg_pool3d")
def _average_pool(group: Group, call: relax.Call) -> relax.Expr:
    """Add up dequantized values in float32; the result's zero point is added before rounding.

    A window that is the whole image is a global average.
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
    """Return an average of a padded image with padding that counts, also beyond the stated one.

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
    kernel, strides = ([int(n) for n in each] for each in (attrs.pool_size, attrs.strides))
    return operator(
        padded.args[0],
        kernel,
        strides,
        padding,
        layout=str(attrs.layout),
        count_include_pad=True,
    )


@rule("nn.avg_pool1d")
def _avg_pool1d(_group: Group, _call: relax.Call) -> relax.Expr:
    raise NoRuleError("an average of rows")


@rule("mean")
def _mean(group: Group, call: relax.Call) -> relax.Expr:
    """GlobalAveragePool, which importers turn into a mean."""
    data = group.activation(call.args[0])
    rank = len(spec_of(data.data).shape)
    axes = sorted(int(axis) % rank for axis in call.attrs.axis or ())
    is_image = rank > 2 and axes in (list(range(2, rank)), list(range(1, rank - 1)))
    if not is_image or not bool(call.attrs.keepdims):
        raise LeftInFloatError("a mean is not of images")
    return _averaged(group, data, axes)


@rule("nn.adaptive_avg_pool2d", arithmetics=[XNNPACK])
def _adaptive_avg_pool2d(group: Group, call: relax.Call) -> relax.Expr:
    if [int(size) for size in call.attrs.output_size or ()] != [1, 1]:
        raise LeftInFloatError("an average is not of whole images")
    return _averaged(group, group.activation(call.args[0]), [2, 3])


@rule("mean", arithmetics=[XNNPACK])
def _xnnpack_mean(group: Group, call: relax.Call) -> relax.Expr:
    rank = len(spec_of(call.args[0]).shape)
    axes = sorted(int(axis) % rank for axis in call.attrs.axis or ())
    if rank != 4 or axes != [2, 3] or not bool(call.attrs.keepdims):
        raise LeftInFloatError("a mean is not of images, or drops their axes")
    return _averaged(group, group.activation(call.args[0]), [2, 3])


def _averaged(group: Group, data: Operand, axes: list[int]) -> relax.Expr:
    encodings = {**data.input, **group.result()}
    return quantized_mean(data.data, axes, True, **encodings, arithmetic=group.arithmetic)
