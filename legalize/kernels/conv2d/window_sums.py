"""Sums of the data under the kernel, which a kernel with a zero point needs once a pixel."""

from __future__ import annotations

from collections.abc import Callable

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.types import Buffer, Index


def window_sums(
    spec: ConvSpec, window_sum: Callable[[Index], Index], zero_point: Buffer, tasks: int
) -> Buffer:
    """Write the loops that compute zw·Σx for every output pixel.

    Args:
        spec: the convolution.
        window_sum: writes the sum of a window of the staged data, whose first byte it is told.
        zero_point: int32 [1], zw.
        tasks: how many tasks share the rows.

    Returns:
        A workspace buffer, int32 [out_pixels].
    """
    sums = T.alloc_buffer((spec.out_pixels,), "int32", scope="global")
    _, height, width, channels = spec.staged_shape
    stride_y, stride_x = spec.strides

    def row(number: Index) -> None:
        n, y = T.truncdiv(number, spec.out_height), T.truncmod(number, spec.out_height)
        with T.serial(spec.out_width) as x:
            origin = ((n * height + y * stride_y) * width + x * stride_x) * channels
            total = window_sum(origin)
            T.buffer_store(sums, total * zero_point[0], [number * spec.out_width + x])

    shared_loop(tasks, spec.batch * spec.out_height, row)
    return sums
