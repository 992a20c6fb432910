"""float_conv2d as loops: Relax's own may fuse products with their sums."""

from __future__ import annotations

from tvm import relax, tirx
from tvm.relax import op as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.float_sums import Sums
from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.float_conv2d import ORDERS, bounds_of, counts_of, float_conv2d, order_of
from qnn_ops.layouts import permutation
from qnn_ops.registry import Attrs, spec_of


@primitive(float_conv2d)
def _float_conv2d(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    data: relax.Expr,
    kernel: relax.Expr,
    bias: relax.Expr | None = None,
) -> relax.Expr:
    emit = builder.emit

    def moved(value: relax.Expr, source: str, target: str) -> relax.Expr:
        return (
            value if source == target else emit(R.permute_dims(value, permutation(source, target)))
        )

    images = moved(data, attrs.data_layout, "NHWC")
    weights = moved(kernel, attrs.kernel_layout, "HWIO")
    sizes, window = spec_of(images).shape, spec_of(weights).shape
    if order_of(attrs) != ORDERS[0]:
        result = R.nn.conv2d(
            images,
            weights,
            strides=list(attrs.strides),
            padding=list(attrs.padding),
            dilation=list(attrs.dilation),
            groups=attrs.groups,
            data_layout="NHWC",
            kernel_layout="HWIO",
        )
        return moved(_finished(builder, attrs, result, bias), "NHWC", attrs.out_layout)
    shape = (sizes[0], *counts_of(attrs, sizes[1:3], window[:2]), window[3])
    function = _function(attrs, sizes, window, shape)
    result = call_loops(builder, "float_conv2d", function, [images, weights], shape, "float32")
    return moved(_finished(builder, attrs, result, bias), "NHWC", attrs.out_layout)


def _finished(
    builder: relax.BlockBuilder, attrs: Attrs, sums: relax.Expr, bias: relax.Expr | None
) -> relax.Expr:
    """Add the bias to sums, and clamp them; a NaN stays one."""
    result = sums if bias is None else R.add(builder.emit(sums), bias)
    for end, is_beyond in zip(bounds_of(attrs), (R.less, R.greater), strict=True):
        if end is not None:
            result, bound = builder.emit(result), relax.const(end, "float32")
            result = R.where(is_beyond(result, bound), bound, result)
    return result


def _function(
    attrs: Attrs, sizes: tuple[int, ...], window: tuple[int, ...], shape: tuple[int, ...]
) -> tirx.PrimFunc:
    units = shape[3] // attrs.groups
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("float_conv2d")
        T.func_attr({"global_symbol": "float_conv2d", "tirx.noalias": True})
        data, kernel, output = (
            T.arg(name, T.buffer(each, "float32"))
            for name, each in (("data", sizes), ("kernel", window), ("output", shape))
        )
        with T.grid(*shape[:3], attrs.groups) as (image, row, column, group):
            sums = Sums(units)
            with T.grid(*window[:2]) as (down, along):
                y = row * attrs.strides[0] + down * attrs.dilation[0] - attrs.padding[0]
                x = column * attrs.strides[1] + along * attrs.dilation[1] - attrs.padding[1]
                inside = T.And(T.And(y >= 0, y < sizes[1]), T.And(x >= 0, x < sizes[2]))
                with T.If(inside), T.Then(), T.serial(window[2]) as channel:
                    factor = data[image, y, x, group * window[2] + channel]
                    sums.add(
                        factor, lambda unit: kernel[down, along, channel, group * units + unit]
                    )
            with T.serial(units) as unit:
                place = [image, row, column, group * units + unit]
                T.buffer_store(output, sums[unit], place)
    return builder.get()
