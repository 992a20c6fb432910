"""CONV_3D and CONV_3D_TRANSPOSE, of float32 tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import activate
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.float_layers import with_bias
from frontends.tflite.converters.padding import same_ends
from frontends.tflite.converters.registry import float_converter
from frontends.tflite.options import Conv3DOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of
from qnn_ops.windows import window_count

_NAMES = ("depth", "height", "width")


@float_converter("CONV_3D")
def convert_conv_3d(ctx: Context) -> relax.Expr:
    """Return a convolution of volumes; the kernel is [depth, height, width, in, out]."""
    data, kernel, options = ctx.input(0), ctx.input(1), ctx.options(Conv3DOptions)
    _check_shapes(data.shape, kernel.shape, 3)
    size, window = data.shape[1:4], kernel.shape[:3]
    ends = _padding(options, size, window)
    for axis, name in enumerate(_NAMES):
        steps = options.stride[axis], options.dilation[axis]
        window_count(name, size[axis], window[axis], *steps, *ends[axis])
    sums = R.nn.conv3d(
        data.expr,
        ctx.builder.emit(R.permute_dims(kernel.expr, [4, 0, 1, 2, 3])),
        strides=options.stride,
        padding=tuple(end[side] for side in (0, 1) for end in ends),
        dilation=options.dilation,
        data_layout="NDHWC",
        kernel_layout="ODHWI",
    )
    return activate(options.activation, with_bias(ctx, sums, 2, kernel.shape[4]))


@float_converter("CONV_3D_TRANSPOSE")
def convert_conv_3d_transpose(ctx: Context) -> relax.Expr:
    """Return what a convolution would have taken; the kernel is [depth, height, width, out, in]."""
    shape, kernel, data = ctx.integers(0), ctx.input(1), ctx.input(2)
    options, emit = ctx.options(Conv3DOptions), ctx.builder.emit
    _check_shapes(data.shape, kernel.shape, 4)
    if options.dilation != (1, 1, 1):
        raise UnsupportedError(f"the dilation {options.dilation}")
    fits = len(shape) == 5 and shape[0] == data.shape[0] and shape[4] == kernel.shape[3]
    if not fits or min(shape) < 1:
        raise QnnError(f"a result of {shape} from {data.shape} by a kernel of {kernel.shape}")
    size, window = shape[1:4], kernel.shape[:3]
    ends = _padding(options, size, window)
    counts = tuple(
        (total + sum(end) - taps) // step + 1
        for total, end, taps, step in zip(size, ends, window, options.stride, strict=True)
    )
    if counts != data.shape[1:4]:
        raise QnnError(f"a convolution of {size} gives {counts}, the data has {data.shape[1:4]}")
    images = emit(R.permute_dims(data.expr, [0, 4, 1, 2, 3]))
    planes = emit(R.permute_dims(kernel.expr, [4, 3, 0, 1, 2]))
    whole = emit(R.nn.conv3d_transpose(images, planes, strides=options.stride))
    whole = emit(R.permute_dims(whole, [0, 2, 3, 4, 1]))
    begins = [before for before, _ in ends]
    stops = [begin + total for begin, total in zip(begins, size, strict=True)]
    # Beyond the last products are zeros.
    more = [max(stop - had, 0) for stop, had in zip(stops, spec_of(whole).shape[1:4], strict=True)]
    widths = [0, 0, *(width for each in more for width in (0, each)), 0, 0]
    padded = emit(R.nn.pad(whole, widths, pad_value=0.0))
    sums = emit(R.strided_slice(padded, [1, 2, 3], begins, stops))
    return activate(options.activation, with_bias(ctx, sums, 3, shape[4]))


def _check_shapes(data: tuple[int, ...], kernel: tuple[int, ...], depth: int) -> None:
    fits = len(data) == len(kernel) == 5 and data[4] == kernel[depth]
    if not fits or min(*data, *kernel) < 1:
        raise QnnError(f"a kernel of shape {kernel} for data of shape {data}")


def _padding(
    options: Conv3DOptions, size: Sequence[int], window: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the pixels before and behind, along each axis."""
    if options.padding == "VALID":
        return [(0, 0)] * 3
    sizes = zip(size, window, options.stride, options.dilation, strict=True)
    return [same_ends(*each) for each in sizes]
