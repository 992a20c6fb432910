"""ConvInteger."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from frontends.onnx.converters.windows import Window, window_of
from frontends.onnx.converters.zero_points import data_point, weight_points
from qnn_ops import quantized_conv2d
from qnn_ops.registry import constant_of, spec_of

Array = np.ndarray[Any, Any]

_VOLUME = 3
"""The dimensions of one."""


@converter("ConvInteger")
def _conv_integer(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return the int32 sums of a convolution; its padding means 0.

    Where only the run tells the zero point of the data, the data is taken as it is, and padded
    with 0. What the zero point adds to a sum is then its product with the weights that lie within
    the image: a constant.
    """
    data, weights, *points = operands_of(operands, 4)
    kernel = spec_of(weights).shape[2:]
    place = window_of(attributes, spec_of(data).shape[2:], kernel)
    groups = int(attributes.get("group", 1))
    if len(kernel) == _VOLUME:
        return _of_volume(builder, data, weights, (points[0], points[1]), place, groups)
    if len(kernel) not in (1, 2):
        raise UnsupportedError("its window must have one to three dimensions")
    is_row = len(kernel) == 1  # of an image
    if is_row:
        array = constant_of(weights)
        data, place = builder.emit(R.expand_dims(data, [2])), place.as_row()
        weights = (
            builder.emit(R.expand_dims(weights, [2]))
            if array is None
            else relax.const(array[:, :, None], str(array.dtype))
        )
    window = _window(place, groups)
    sums = _sums(builder, data, weights, (points[0], points[1]), window)
    return R.squeeze(builder.emit(sums), [2]) if is_row else sums


def _window(place: Window, groups: int) -> dict[str, Any]:
    return {
        "strides": place.strides,
        "padding": place.padding,
        "dilation": place.dilations,
        "groups": groups,
        "data_layout": "NCHW",
        "kernel_layout": "OIHW",
    }


def _of_volume(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weights: relax.Expr,
    points: tuple[relax.Expr | None, relax.Expr | None],
    place: Window,
    groups: int,
) -> relax.Expr:
    """Add up the sums that each plane of the window has of the planes it meets, as of images."""
    emit, array = builder.emit, constant_of(weights)
    batch, channels, size, *image = spec_of(data).shape
    planes = spec_of(weights).shape[2]
    stride, dilation, (front, top, left, back, bottom, right) = (
        *(place.strides[0], place.dilations[0]),
        place.padding,
    )
    flat = Window(place.strides[1:], place.dilations[1:], [top, left, bottom, right], [0, 0])
    count = (size + front + back - (planes - 1) * dilation - 1) // stride + 1
    if count < 1:
        raise UnsupportedError("its window is larger than its data")
    total = None
    for number in range(planes):
        offset = number * dilation - front
        first = max(0, -(offset // stride))
        last = min(count, (size - 1 - offset) // stride + 1)
        if last <= first:
            continue
        met, begin = last - first, first * stride + offset
        end = begin + (met - 1) * stride + 1
        part = emit(R.strided_slice(data, [2], [begin], [end], [stride]))
        part = emit(R.permute_dims(part, [0, 2, 1, 3, 4]))
        images = emit(R.reshape(part, (batch * met, channels, *image)))
        if array is not None:
            own = relax.const(np.ascontiguousarray(array[:, :, number]), str(array.dtype))
        else:
            own = emit(R.strided_slice(weights, [2], [number], [number + 1]))
            own = emit(R.squeeze(own, [2]))
        sums = emit(_sums(builder, images, own, points, _window(flat, groups)))
        shape = spec_of(sums).shape[1:]
        sums = emit(R.reshape(sums, (batch, met, *shape)))
        ends = [np.zeros((batch, missing, *shape), np.int32) for missing in (first, count - last)]
        before, after = ([relax.const(each)] if each.size else [] for each in ends)
        parts = [*before, sums, *after]
        sums = emit(R.concat(parts, 1)) if len(parts) > 1 else sums
        total = sums if total is None else emit(R.add(total, sums))
    if total is None:
        raise UnsupportedError("its window meets its padding alone")
    return R.permute_dims(total, [0, 2, 1, 3, 4])


def _sums(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weights: relax.Expr,
    given: tuple[relax.Expr | None, relax.Expr | None],
    window: dict[str, Any],
) -> relax.Expr:
    """Return the sums of an image's convolution, with the zero points of data and weights."""
    own_point, other_point = given
    array, points = constant_of(weights), weight_points(other_point)
    point, late = data_point(own_point)
    if array is None or points is None or points.size > 1:
        words = R.subtract(
            R.astype(data, "int32"), relax.const(point, "int32") if late is None else late
        )
        return _of_words(builder, builder.emit(words), weights, other_point, window)

    def encodings(point: int) -> tuple[Any, ...]:
        return (1.0, point, 1.0, int(points[0]), 1.0, 0, "int32")

    sums = builder.emit(quantized_conv2d(data, weights, *encodings(point), **window))
    if late is None:
        return sums
    if any(window["padding"]):
        ones = np.ones((1, *spec_of(data).shape[1:]), np.uint8)
        within = quantized_conv2d.evaluate(ones, array, *encodings(0), **window)
    else:
        within = (array.astype(np.int32) - int(points[0])).sum(axis=(1, 2, 3)).reshape(1, -1, 1, 1)
    return R.subtract(sums, R.multiply(late, relax.const(within.astype(np.int32))))


def _of_words(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weights: relax.Expr,
    point: relax.Expr | None,
    window: dict[str, Any],
) -> relax.Expr:
    """Multiply words by weights of which no kernel knows enough."""
    kernel = builder.emit(R.astype(weights, "int32"))
    if point is not None:
        points = builder.emit(R.astype(point, "int32"))
        kernel = builder.emit(R.subtract(kernel, builder.emit(R.reshape(points, (-1, 1, 1, 1)))))
    return R.nn.conv2d(data, kernel, **window, out_dtype="int32")
