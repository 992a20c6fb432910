"""Lowers quantized_pool2d and reduce_windows to Relax primitives."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import Expr
from tvm.relax import op as R
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import Builder, primitive
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import bounds, dtype_range
from qnn_ops.dialect.layouts import permutation, reorder
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import as_extent
from qnn_ops.quantized.pool2d import quantized_pool2d, valid_taps, window_counts
from qnn_ops.unquantized.reduce_windows import reduce_windows
from qnn_ops.unquantized.reduce_windows import window_counts as element_counts


@primitive(quantized_pool2d)
def _quantized_pool2d(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    pooled = _maximum(attrs, data) if attrs.pool_type == "max" else _average(builder, attrs, data)
    dtype = spec_of(data).dtype
    limits = bounds(attrs, dtype)
    if limits == dtype_range(dtype):
        return R.astype(pooled, dtype)
    work = "int32" if attrs.pool_type == "avg" else dtype
    low, high = (relax.const(bound, work) for bound in limits)
    return R.astype(R.minimum(R.maximum(pooled, low), high), dtype)


def _maximum(attrs: Attrs, data: Expr) -> Expr:
    # Padding is the dtype's lowest value, which never wins.
    return R.nn.max_pool2d(
        data,
        list(attrs.pool_size),
        list(attrs.strides),
        list(attrs.padding),
        layout=attrs.layout,
    )


def _average(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    spec = spec_of(data)
    _, height, width, channels = reorder(spec.shape, attrs.layout, "NHWC")
    # A depthwise convolution with ones sums each window exactly; avg_pool2d would truncate.
    ones = np.ones((*attrs.pool_size, channels, 1), spec.dtype)
    kernel_layout = "HWOI" if attrs.layout == "NHWC" else "OIHW"
    sums = R.nn.conv2d(
        data,
        relax.const(ones.transpose(permutation("HWOI", kernel_layout)), spec.dtype),
        strides=list(attrs.strides),
        padding=list(attrs.padding),
        groups=channels,
        data_layout=attrs.layout,
        kernel_layout=kernel_layout,
        out_dtype="int32",
    )
    taps = _laid_out(attrs, window_counts(attrs, (height, width)))
    origin = attrs.origin
    if origin:
        on_image = _laid_out(attrs, valid_taps(attrs, (height, width)))
        sums = R.subtract(sums, relax.const(on_image * origin, "int32"))
    if attrs.rounding == "half_even":
        real = R.divide(R.astype(sums, "float32"), relax.const(taps, "float32"))
        quotient = R.astype(R.round(real), "int32")
    elif origin == dtype_range(spec.dtype)[0]:
        quotient = _divide(R.add(sums, relax.const(taps // 2, "int32")), taps, spec.dtype)
    else:
        # Rounding half away from the origin is symmetric, so divide magnitudes.
        centred = builder.emit(sums)
        half_up = R.add(R.abs(centred), relax.const(taps // 2, "int32"))
        magnitude = builder.emit(_divide(half_up, taps, spec.dtype))
        is_negative = R.less(centred, relax.const(0, "int32"))
        quotient = R.where(is_negative, R.negative(magnitude), magnitude)
    return R.add(quotient, relax.const(origin, "int32")) if origin else quotient


def _laid_out(attrs: Attrs, counts: Array) -> Array:
    """Return one number if all windows have the same; otherwise one per window, to broadcast."""
    if (counts == counts[0, 0]).all():
        return np.asarray(counts[0, 0])
    return counts[None, :, :, None].transpose(permutation("NHWC", attrs.layout))


def _divide(dividend: Expr, taps: Array, dtype: str) -> Expr:
    """Divide a sum of ``taps`` values of ``dtype``, plus half of ``taps``, rounding down."""
    # Processors divide slowly. With m = ceil(2^22 / n), a * m >> 22 is a // n for every
    # a < 257 n (at least 0) as long as the excess, a (m n - 2^22), stays below 2^22 and a * m in
    # 31 bits: both hold up to 127 taps.
    if np.max(taps) > 127 or dtype == "int16":
        return R.floor_divide(dividend, relax.const(taps, "int32"))
    reciprocal = -(-(1 << 22) // taps)
    return R.right_shift(
        R.multiply(dividend, relax.const(reciprocal, "int32")), relax.const(22, "int32")
    )


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "maximum": lambda total, new: T.Select(total >= new, total, new),
    "minimum": lambda total, new: T.Select(total <= new, total, new),
    "all": lambda total, new: T.And(total != 0, new != 0),
    "any": lambda total, new: T.Or(total != 0, new != 0),
}


@primitive(reduce_windows)
def _reduce_windows(builder: Builder, attrs: Attrs, data: Expr, start: Expr) -> Expr:
    spec = spec_of(data)
    counts = element_counts(spec.shape, attrs.window, attrs.strides, attrs.dilations)
    dtype = spec.dtype
    # This has 64 bits, as TVM lets LLVM assume that int32 does not overflow.
    inner = "int64" if dtype.startswith(("int", "uint")) else dtype

    def write(data: Any, start: Any, output: Any) -> None:
        with T.grid(*map(as_extent, counts)) as places:
            total = cell(dtype, start[0])
            with T.grid(*attrs.window) as taps:
                index = [
                    place * int(stride) + tap * int(dilation)
                    for place, stride, tap, dilation in zip(
                        *(_each(places), attrs.strides, _each(taps), attrs.dilations), strict=True
                    )
                ]
                old, new = (T.cast(each, inner) for each in (total[0], data[tuple(index)]))
                put(total, T.cast(_COMBINED[attrs.reduction](old, new), dtype))
            T.buffer_store(output, total[0], list(_each(places)))

    return call_loops(builder, "reduce_windows", [data, start], counts, dtype, write)


def _each(loops: Any) -> Sequence[Any]:
    """Return the variables of a grid, which is a variable itself if it has one loop."""
    return [loops] if isinstance(loops, tirx.Var) else loops
