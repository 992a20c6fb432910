"""Conv and ConvInteger, and the windows and padding of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Array, Call, converter
from qnn_ops import float_conv2d, quantized_conv2d
from qnn_ops.dialect.registry import as_const, constant_of, spec_of
from qnn_ops.unquantized.float_conv2d import ORDERS


@dataclass(frozen=True)
class Window:
    """A window that slides over an image.

    Attributes:
        strides: along each axis.
        dilations: along each axis.
        padding: before all axes, then after all.
        beyond: the part of the padding after each axis that only the last window needs, if the
            number of windows is rounded up.
        groups: of channels.
    """

    strides: list[int]
    dilations: list[int]
    padding: list[int]
    beyond: list[int]
    groups: int

    def as_row(self) -> Window:
        """Return a window over a row as a window over an image of one row."""
        before, after = self.padding
        row = [1, *self.strides], [1, *self.dilations], [0, before, 0, after]
        return Window(*row, [0, *self.beyond], self.groups)

    @property
    def steps(self) -> dict[str, Any]:
        """The attributes of a convolution."""
        steps = {"strides": self.strides, "padding": self.padding, "dilation": self.dilations}
        return {**steps, "groups": self.groups}

    @property
    def options(self) -> dict[str, Any]:
        """The attributes of a convolution of images whose channels are first."""
        return {**self.steps, "data_layout": "NCHW", "kernel_layout": "OIHW"}


def window_of(call: Call, image: Sequence[int], kernel: Sequence[int]) -> Window:
    """Read a window. A mode may state its padding, or that the number of windows is rounded up.

    Args:
        call: the operator.
        image: sizes of the data's axes.
        kernel: taps along each axis.

    Raises:
        UnsupportedError: there is no such window.
    """
    rank = len(kernel)
    strides, dilations = (call.integers(name, [1] * rank) for name in ("strides", "dilations"))
    pads, mode = call.integers("pads", [0] * 2 * rank), call.text("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "SAME_LOWER", "SAME_UPPER", "VALID"):
        raise UnsupportedError(f"auto_pad {mode!r} is not known")
    if not len(strides) == len(dilations) == rank == len(image) or len(pads) != 2 * rank:
        raise UnsupportedError("attributes of its window have different lengths")
    if mode.startswith("SAME") and max(dilations) > 1:
        raise UnsupportedError("ONNX Runtime takes no auto_pad with dilations")
    if min(*strides, *dilations) < 1 or min(pads) < 0:
        raise UnsupportedError("its padding must not be negative")
    sides, beyond = [], []
    for axis, size in enumerate(image):
        extent = (kernel[axis] - 1) * dilations[axis] + 1
        before, after = pads[axis], pads[axis + rank]
        if mode == "VALID":
            before = after = 0
        elif mode != "NOTSET":
            total = (-(-size // strides[axis]) - 1) * strides[axis] + extent - size
            if total < -1:  # ONNX Runtime's operators contradict each other here
                raise UnsupportedError(f"strides beyond its window need no auto_pad {mode}")
            total = max(total, 0)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            after = total - before
        stated = after
        if call.integer("ceil_mode"):
            count = -(-(size + before + after - extent) // strides[axis]) + 1
            if (count - 1) * strides[axis] >= size + before:
                count -= 1  # the last window would begin behind the image
            after = max(after, (count - 1) * strides[axis] + extent - size - before)
        sides.append((before, after))
        beyond.append(after - stated)
    padding = [before for before, _ in sides] + [after for _, after in sides]
    return Window(strides, dilations, padding, beyond, call.integer("group", 1))


def data_point(operand: relax.Expr | None) -> tuple[int, relax.Expr | None]:
    """Return the data's zero point: a number, or 0 and an int32 scalar that the run computes.

    Raises:
        UnsupportedError: there are several, or none.
    """
    if operand is None:
        return 0, None
    if (count := int(np.prod(spec_of(operand).shape))) != 1:
        raise UnsupportedError(f"the first operand has {count} zero points")
    value = constant_of(operand)
    if value is not None:
        return int(value.item()), None
    return 0, R.astype(R.reshape(operand, ()), "int32")


def weight_points(operand: relax.Expr | None) -> Array | None:
    """Return the weights' zero points: one, or one per channel; None if the run computes them.

    Raises:
        UnsupportedError: there are none.
    """
    if operand is None:
        return np.zeros(1, np.int64)
    value = constant_of(operand)
    if value is None:
        return None
    points = value.astype(np.int64).reshape(-1)
    if not points.size:
        raise UnsupportedError("the second operand has 0 zero points")
    return points[:1] if np.all(points == points[0]) else points


_OPERATORS = {1: R.nn.conv1d, 2: R.nn.conv2d, 3: R.nn.conv3d}


@converter("Conv")
def _conv(call: Call, data: relax.Expr, weights: relax.Expr, bias: Any) -> relax.Expr:
    image, kernel = spec_of(data).shape[2:], spec_of(weights).shape[2:]
    rank = len(kernel)
    if rank not in _OPERATORS or len(image) != rank:
        raise UnsupportedError("its window must have one to three dimensions")
    window = window_of(call, image, kernel)
    if _is_plain(call, weights):
        result = float_conv2d(data, weights, **window.options, order=ORDERS[1])
    else:
        result = _OPERATORS[rank](data, weights, **window.steps)
    if bias is None:
        return result
    return R.add(call.emit(result), R.reshape(bias, (1, -1, *[1] * rank)))


def _is_plain(call: Call, weights: relax.Expr) -> bool:
    """Tell whether a convolution of images must not take the order of its constant weights."""
    spec, is_constant = spec_of(weights), constant_of(weights) is not None
    is_of_image = spec.dtype == "float32" and len(spec.shape) == _OF_IMAGES
    return "order" in call.attributes and is_constant and is_of_image


_OF_IMAGES = 4
"""The number of axes of the weights of an image's convolution."""
_VOLUME = 3
"""The number of a volume's dimensions."""


@converter("ConvInteger")
def _conv_integer(call: Call, data: relax.Expr, weights: relax.Expr) -> relax.Expr:
    """Return the int32 sums of a convolution; padding has the real value 0.

    If only the run knows the data's zero point, the kernel convolves the stored data, padded with
    0. The zero point's share of a sum is then its product with the weights within the image. The
    sum of these weights is a constant.
    """
    kernel = spec_of(weights).shape[2:]
    window = window_of(call, spec_of(data).shape[2:], kernel)
    if len(kernel) == _VOLUME:
        return _of_volume(call, window)
    if len(kernel) not in (1, 2):
        raise UnsupportedError("its window must have one to three dimensions")
    if len(kernel) == 2:
        return _sums(call, data, weights, window)
    array = constant_of(weights)
    row = call.emit(R.expand_dims(data, [2]))
    if array is None:
        weights = call.emit(R.expand_dims(weights, [2]))
    else:
        weights = as_const(array[:, :, None])
    return R.squeeze(call.emit(_sums(call, row, weights, window.as_row())), [2])


def _of_volume(call: Call, window: Window) -> Any:
    """Add up the sums of two-dimensional convolutions: each plane of the window over its planes."""
    data, weights = map(call.array, call.operands(2))
    array, (batch, channels, size, *image) = constant_of(weights.expr), data.shape
    planes = weights.shape[2]
    stride, dilation = window.strides[0], window.dilations[0]
    front, top, left, back, bottom, right = window.padding
    plane = window.strides[1:], window.dilations[1:], [top, left, bottom, right]
    flat = Window(*plane, [0, 0], window.groups)
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
        part = data[:, :, begin : begin + (met - 1) * stride + 1 : stride]
        images: Any = np.transpose(part, [0, 2, 1, 3, 4])
        images = images.reshape(batch * met, channels, *image)
        if array is not None:
            own = as_const(np.ascontiguousarray(array[:, :, number]))
        else:
            own = call.emit(R.squeeze(weights[:, :, number : number + 1].expr, [2]))
        sums = data.to(_sums(call, images.expr, own, flat))
        sums = sums.reshape(batch, met, *sums.shape[1:])
        if met < count:
            sums = np.pad(sums, [(0, 0), (first, count - last), *[(0, 0)] * 3])
        total = sums if total is None else total + sums
    if total is None:
        raise UnsupportedError("its window meets its padding alone")
    return np.transpose(total, [0, 2, 1, 3, 4])


def _sums(call: Call, data: relax.Expr, weights: relax.Expr, window: Window) -> relax.Expr:
    """Return the sums of an image's convolution, with the zero points of the call's operands."""
    own_point, other_point = call.operands(4)[2:]
    array, points = constant_of(weights), weight_points(other_point)
    point, late = data_point(own_point)
    if array is None or points is None or points.size > 1:  # no kernel knows such weights
        zero = relax.const(point, "int32") if late is None else late
        words = call.emit(R.subtract(R.astype(data, "int32"), zero))
        kernel = call.array(weights).astype(np.int32)
        if other_point is not None:
            kernel = kernel - call.array(other_point).astype(np.int32).reshape(-1, 1, 1, 1)
        return R.nn.conv2d(words, kernel.expr, **window.options, out_dtype="int32")

    def encodings(point: int) -> tuple[Any, ...]:
        return (1.0, point, 1.0, int(points[0]), 1.0, 0, "int32")

    sums = call.emit(quantized_conv2d(data, weights, *encodings(point), **window.options))
    if late is None:
        return sums
    if any(window.padding):
        ones = np.ones((1, *spec_of(data).shape[1:]), np.uint8)
        within = quantized_conv2d.evaluate(ones, array, *encodings(0), **window.options)
    else:
        within = (array.astype(np.int32) - int(points[0])).sum(axis=(1, 2, 3)).reshape(1, -1, 1, 1)
    return R.subtract(sums, R.multiply(late, relax.const(within.astype(np.int32))))
