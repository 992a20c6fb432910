"""The constants of a convolution and of its groups, before kernels lay them out."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm.relax import op as R
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import Array, Buffer, Index
from legalize.kernels.kernel import Builder, Lowered, Operands, Rule
from qnn_ops.arithmetic.accumulator_bounds import centred_bounds, product_sums, signed_sums
from qnn_ops.arrays import Int64Array
from qnn_ops.dialect.registry import Attrs, as_const, constant_of, spec_of


def window_sums(
    spec: ConvSpec, window_sum: Callable[[Index], Index], zero_point: Buffer, tasks: int
) -> Buffer:
    """Write the loops that compute zw·Σx for every output pixel.

    Args:
        spec: the convolution.
        window_sum: writes the sum of a window of the staged data, given the window's first byte.
        zero_point: int32 [1], zw.
        tasks: the number of tasks that share the rows.

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


def each_group(rule: Rule, least_depthwise: int = 1) -> Rule:
    """Return a rule that splits the channels of grouped convolutions of NHWC data.

    Args:
        rule: serves convolutions of one group.
        least_depthwise: depthwise convolutions of this many output channels are left to others.
    """

    def served(builder: Builder, attrs: Attrs, operands: Operands) -> Lowered:
        if attrs.groups == 1:
            return rule(builder, attrs, operands)
        channels = spec_of(operands[0]).shape[attrs.data_layout.index("C")]
        out_channels = spec_of(operands[1]).shape[attrs.kernel_layout.index("O")]
        if attrs.groups == channels and out_channels >= least_depthwise:
            return None
        data, *constants = operands
        arrays = [constant_of(constant) for constant in constants]
        layouts = (attrs.data_layout, attrs.out_layout)
        if any(array is None for array in arrays) or layouts != ("NHWC", "NHWC"):
            return None
        groups = attrs.groups
        per_group = spec_of(data).shape[3] // groups
        axes = [attrs.kernel_layout.index("O"), *([0] * len(arrays))]
        results = []
        for group in range(groups):
            first = group * per_group
            part = builder.emit(
                R.strided_slice(data, axes=[3], begin=[first], end=[first + per_group])
            )
            own = [
                as_const(_part(array, axis, group, groups))
                for array, axis in zip(arrays, axes, strict=False)
                if array is not None
            ]
            result = rule(builder, _attrs_of(attrs, group), [part, *own])
            if result is None:
                return None
            results.append(builder.emit(result))
        return R.concat(results, axis=3)

    return served


def _attrs_of(attrs: Attrs, group: int) -> Attrs:
    """Return the attributes of the convolution of one group."""
    own: dict[str, Any] = {"groups": 1}
    for name in ("kernel_scale", "kernel_zero_point"):
        values = getattr(attrs, name)
        if isinstance(values, tuple):
            size = len(values) // attrs.groups
            own[name] = values[group * size : (group + 1) * size]
    return type(attrs)(**{**vars(attrs), **own})


def _part(array: Any, axis: int, group: int, groups: int) -> Any:
    size = array.shape[axis] // groups
    return array.take(range(group * size, (group + 1) * size), axis)


def signed_kernel(weights: Weights) -> tuple[Array, int]:
    """Return the kernel as signed bytes, in int16, and their zero point."""
    offset = 128 if weights.kernel.dtype == np.uint8 else 0
    return weights.kernel.astype(np.int16) - np.int16(offset), int(weights.zero_point) - offset


def unique(values: Array | int) -> Array:
    """Return the different integers; numpy's own function imports its masked arrays first."""
    return np.array(sorted({*np.ravel(values).tolist()}), np.int64)


def per_channel(spec: ConvSpec, weights: Weights) -> tuple[Array, Array, Array]:
    """Return a multiplier, a shift and a bias for each output channel."""
    multiplier = np.broadcast_to(np.ravel(weights.multiplier), spec.out_channels)
    bias = 0 if weights.bias is None else weights.bias
    shift, bias = (
        np.broadcast_to(np.ravel(each), spec.out_channels).astype(np.int32)
        for each in (weights.shift, bias)
    )
    return multiplier.astype(spec.output.rule.dtype), shift, bias


def weight_sums(kernel: Array, zero_point: int) -> tuple[Int64Array, Int64Array]:
    """Return the sums of each output channel's weights above the zero point, and below it.

    Args:
        kernel: integers [out_channels, ...].
        zero_point: of the weights.

    Returns:
        int64 [out_channels], twice: at least 0, and at most 0.
    """
    centred = kernel - zero_point if zero_point else kernel
    return signed_sums(centred.reshape(len(kernel), -1), 1)


def fold_zero_points(
    spec: ConvSpec, signed: tuple[Int64Array, Int64Array], bias: Array
) -> tuple[Array, Array]:
    """Return the bias that raw products need, and each channel's largest possible |accumulator|.

    Args:
        spec: the convolution.
        signed: its ``weight_sums``.
        bias: int32 [out_channels].
    """
    zx = spec.staged_zero_point
    # bias − zx·Σw + K·zx·zw; conv_calls takes no call whose result could leave int32 here.
    folded = (bias - np.int64(zx) * sum(signed)).astype(np.int32)
    dtype = spec.in_dtype if spec.staged_dtype == "int16" else spec.staged_dtype
    sums = product_sums(signed, centred_bounds(dtype, zx)) + bias
    return folded, np.maximum(sums.high, -sums.low)


def deal(values: Array, lanes: Array, filler: int = 0) -> Array:
    """Distribute values per channel to the lanes; empty lanes get ``filler``."""
    return np.append(values, values.dtype.type(filler))[lanes]
