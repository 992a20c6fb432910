"""TRANSPOSE_CONV, as ordinary convolutions of the data, one for each phase of the strides.

An output pixel y, with the padding p and the stride s, lies at phase r = (y + p) mod s of step
q = (y + p) div s. The taps r, r + s, r + 2s, … reach it from the pixels q, q - 1, q - 2, … of the
data: a convolution by every s-th tap, backwards. The phases become channels, which are then moved
to their pixels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.activations import clamp_range
from frontends.tflite.converters.context import Context, Operand, per_channel, per_tensor, regrouped
from frontends.tflite.converters.layers import convolution
from frontends.tflite.options.base import Options
from qnn_ops import QnnError, quantized_concat, quantized_conv2d
from qnn_ops.arrays import Array

# The most phases with different taps. More phases become one convolution, with taps of 0.
_MOST_CONVOLUTIONS = 16


@dataclass(frozen=True)
class _Axis:
    """One axis of the image.

    Attributes:
        size: pixels of the data.
        count: pixels of the output.
        window: taps.
        stride: pixels of the output for one of the data.
        padding: pixels of the output before the first.
    """

    size: int
    count: int
    window: int
    stride: int
    padding: int

    @property
    def first(self) -> int:
        """The step of the first output pixel."""
        return self.padding // self.stride

    @property
    def steps(self) -> int:
        """Steps that have output pixels."""
        return (self.padding + self.count - 1) // self.stride - self.first + 1

    @property
    def crop(self) -> int:
        """Pixels of the first step that lie before the output."""
        return self.padding % self.stride

    @property
    def taps(self) -> list[int]:
        """The number of taps of each phase; a phase without taps gets one of 0."""
        return [max(1, -(-(self.window - r) // self.stride)) for r in range(self.stride)]

    def last_taps(self, phase: int, count: int) -> list[int]:
        """Return the last ``count`` taps of a phase, backwards; some may lie beyond the window."""
        return [phase + self.stride * (count - 1 - tap) for tap in range(count)]

    def span(self, taps: int) -> tuple[int, int]:
        """Return the number of pixels that a phase reads before and after the data."""
        return taps - 1 - self.first, self.first + self.steps - self.size


def convert_transpose_conv(ctx: Context) -> relax.Expr:
    """Return a convolution that spreads pixels; the first operand is the output's shape."""
    kernel, data = ctx.constant(1), ctx.input(2)
    shape = output_shape(ctx, kernel.shape, data)
    convolution.check_kernel(data.tensor, ctx.tensor(1), ctx.output())
    # A zero point is one number here: the weight that means 0.
    zero = np.max(per_channel(ctx.tensor(1), 0)[1])

    def join(parts: list[relax.Var]) -> relax.Expr:
        scale, point = per_tensor(ctx.output())
        scales, points = [scale] * len(parts), [point] * len(parts)
        dtype = ctx.output().dtype
        return quantized_concat(parts, scales, points, scale, point, dtype, axis=3)

    return in_phases(ctx, shape, kernel, partial(_convolve, ctx), join, zero)


def in_phases(
    ctx: Context,
    shape: tuple[int, ...],
    kernel: Array,
    convolve: Callable[[Array, int, tuple[int, ...]], relax.Var],
    join: Callable[[list[relax.Var]], relax.Expr],
    zero: float = 0,
) -> relax.Expr:
    """Return a transposed convolution as ordinary convolutions, one for each phase of its strides.

    Args:
        ctx: the operator; its third operand is the data.
        shape: of the result.
        kernel: OHWI.
        convolve: makes the pixels of the steps, given the weights in OHWI of consecutive phases,
            the number of these phases, and the padding.
        join: concatenates channels.
        zero: the weight that means 0.
    """
    options, sizes = ctx.options, ctx.input(2).shape[1:3]
    taps, stride = kernel.shape[1:3], options.stride
    padding = convolution.window_of(options, shape[1:3], taps)["padding"]
    numbers = zip(sizes, shape[1:3], taps, stride, padding[:2], strict=True)
    axes = [_Axis(*each) for each in numbers]
    phases = list(product(range(stride[0]), range(stride[1])))
    taps = [(axes[0].taps[y], axes[1].taps[x]) for y, x in phases]
    sets = [([phase], count) for phase, count in zip(phases, taps, strict=True)]
    if len(set(taps)) == 1 or len(phases) > _MOST_CONVOLUTIONS:
        sets = [(phases, (max(axes[0].taps), max(axes[1].taps)))]
    parts = []
    for some, count in sets:
        spans = [axis.span(taps) for axis, taps in zip(axes, count, strict=True)]
        ends = tuple(span[end] for end in (0, 1) for span in spans)
        parts.append(convolve(_phase_weights(kernel, axes, some, count, zero), len(some), ends))
    joined = parts[0] if len(parts) == 1 else ctx.emit(join(parts))
    return _dealt(ctx, axes, joined, shape)


def output_shape(ctx: Context, kernel: tuple[int, ...], data: Operand) -> tuple[int, ...]:
    """Read the first operand, checked against data and weights; its batch may be the file's."""
    shape = ctx.integers(0)
    if len(kernel) != 4 or len(data.shape) != 4 or len(shape) != 4:
        raise QnnError(
            f"data, weights and the output's shape must have 4 dimensions, got {data.shape}, "
            f"{kernel} and {shape}"
        )
    batch, depth = shape[0], shape[3]
    if batch == ctx.tensor(2).shape[0]:
        batch = data.shape[0]
    if batch != data.shape[0] or depth != kernel[0] or data.shape[3] != kernel[3]:
        raise QnnError(
            f"from data of shape {data.shape} weights of shape {kernel} do not make an output of "
            f"shape {shape}"
        )
    if min(shape[1:3]) < 1 or min(kernel) < 1 or min(data.shape) < 1:
        raise QnnError(f"data, weights and output must have elements, got the shape {shape}")
    _check_size(ctx.options, shape[1:3], kernel[1:3], data.shape[1:3])
    return (batch, *shape[1:])


def _check_size(
    options: Options, size: Sequence[int], window: Sequence[int], data: Sequence[int]
) -> None:
    """Raise unless a convolution of the output has the data's size, as LiteRT demands."""
    counts = tuple(
        -(-n // s) if options.padding == "SAME" else (n - k) // s + 1
        for n, k, s in zip(size, window, options.stride, strict=True)
    )
    if counts != tuple(data):
        raise QnnError(
            f"a convolution of the output's {size[0]} x {size[1]} pixels gives {counts[0]} x "
            f"{counts[1]}, the data has {data[0]} x {data[1]}"
        )


def _convolve(ctx: Context, weights: Array, phases: int, padding: tuple[int, ...]) -> relax.Var:
    """Return the steps' pixels of some phases, which become channels, one phase after the other."""
    kernel, data, result = ctx.tensor(1), ctx.input(2), ctx.output()
    scale, zero_point = per_channel(kernel, 0)
    convolution.check_zero_point(kernel, zero_point)
    scale = scale * phases if isinstance(scale, list) else scale
    bias, options, is_int16 = None, ctx.options, data.dtype == "int16"
    bias_type = convolution.int16_bias_type(options.quantized_bias_type) if is_int16 else "int32"
    if ctx.has(3):
        convolution.check_bias(ctx.tensor(3), bias_type)
        biases = np.tile(ctx.constant(3).reshape(-1), phases)
        bias = ctx.values.add_constant(result, "_bias", biases)
    elif is_int16 and bias_type == "int32":
        # It states the width of the sums, even without a bias.
        bias = ctx.values.add_constant(result, "_bias", np.zeros(len(weights), np.int32))
    low, high = clamp_range(options.activation, result)
    encodings = (*data.quantization, scale, zero_point, *per_tensor(result))
    call = quantized_conv2d(
        data.expr,
        ctx.values.add_constant(result, "_weights", weights),
        *encodings,
        result.dtype,
        padding=padding,
        data_layout="NHWC",
        kernel_layout="OHWI",
        bias=bias,
        out_min=low,
        out_max=high,
        rounding="reduced" if is_int16 and bias_type == "int64" else "tflite",
    )
    return ctx.emit(call)


def _phase_weights(
    kernel: Array,
    axes: list[_Axis],
    phases: list[tuple[int, int]],
    taps: tuple[int, int],
    zero: Any,
) -> Array:
    """Return every s-th tap of the kernel, OHWI, backwards, for each phase."""
    rest = [(0, count * axis.stride) for axis, count in zip(axes, taps, strict=True)]
    filled = np.pad(kernel, ((0, 0), *rest, (0, 0)), constant_values=zero)
    parts = []
    for phase in phases:
        rows, columns = (
            axis.last_taps(r, count) for axis, r, count in zip(axes, phase, taps, strict=True)
        )
        parts.append(filled[:, rows][:, :, columns])
    return np.concatenate(parts)


def _dealt(
    ctx: Context, axes: list[_Axis], joined: relax.Expr, shape: tuple[int, ...]
) -> relax.Expr:
    """Move the phases to the pixels of their steps, and crop them to the output."""
    rows, columns = axes
    if rows.stride * columns.stride > 1:
        parts = (shape[0], rows.steps, columns.steps, rows.stride, columns.stride, shape[3])
        dealt = regrouped(ctx, joined, parts, [0, 1, 3, 2, 4, 5])
        sizes = (shape[0], rows.steps * rows.stride, columns.steps * columns.stride, shape[3])
        joined = ctx.emit(R.reshape(dealt, sizes))
    begins = [axis.crop for axis in axes]
    ends = [axis.crop + axis.count for axis in axes]
    if begins == [0, 0] and ends == [axis.steps * axis.stride for axis in axes]:
        return joined
    return R.strided_slice(joined, [1, 2], begins, ends)
