"""float_conv2d and float_matmul as loops: Relax's own may fuse products with their sums."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.float_conv2d import ORDERS, bounds_of, counts_of, float_conv2d
from qnn_ops.layouts import permutation
from qnn_ops.matmul import float_matmul
from qnn_ops.registry import Attrs, spec_of

_MOST = float(np.finfo(np.float32).max)


class Sums:
    """Sums that begin at 0, side by side in memory."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._values = T.alloc_buffer((count,), "float32", scope="global")
        with T.serial(count) as place:
            T.buffer_store(self._values, T.float32(0), [place])

    def __getitem__(self, place: Any) -> Any:
        """Return the sum in a place."""
        return self._values[place]

    def add(self, factor: Any, other: Callable[[Any], Any]) -> None:
        """Add to each sum the product of a factor and the number of its place."""
        with T.serial(self._count) as place:
            total = self._values[place] + rounded(factor * other(place))
            T.buffer_store(self._values, total, [place])


def rounded(product: Any) -> Any:
    """Round a product before a sum, as qnn_ops.rounded does."""
    variable = tirx.Var("product", "float32")
    is_infinite = tirx.abs(variable) > T.float32(_MOST)
    return tirx.Let(variable, product, tirx.Select(is_infinite, variable * 2.0, variable))


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
    if attrs.order != ORDERS[0]:
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
    function = _conv2d(attrs, sizes, window, shape)
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


def _conv2d(
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


@primitive(float_matmul)
def _float_matmul(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    if attrs.order != ORDERS[0]:
        return R.matmul(lhs, rhs)
    (*left, rows, depth), (*right, _, columns) = spec_of(lhs).shape, spec_of(rhs).shape
    rank = max(len(left), len(right))
    pairs = [[1] * (rank - len(each)) + each for each in (left, right)]
    outer = [max(sizes) if 0 not in sizes else 0 for sizes in zip(*pairs, strict=True)]

    def whole(value: relax.Expr, own: list[int], matrix: tuple[int, int]) -> relax.Expr:
        if own != outer:
            value = builder.emit(R.broadcast_to(value, (*outer, *matrix)))
        return builder.emit(R.reshape(value, (prod(outer), *matrix)))

    function = _matmul(prod(outer), rows, depth, columns)
    given = [whole(lhs, left, (rows, depth)), whole(rhs, right, (depth, columns))]
    shape = (prod(outer), rows, columns)
    result = call_loops(builder, "float_matmul", function, given, shape, "float32")
    return R.reshape(builder.emit(result), (*outer, rows, columns))


def _matmul(count: int, rows: int, depth: int, columns: int) -> tirx.PrimFunc:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("float_matmul")
        T.func_attr({"global_symbol": "float_matmul", "tirx.noalias": True})
        shapes = {"lhs": (rows, depth), "rhs": (depth, columns), "output": (rows, columns)}
        lhs, rhs, output = (
            T.arg(name, T.buffer((count, *shape), "float32")) for name, shape in shapes.items()
        )
        with T.grid(count, rows) as (number, row):
            sums = Sums(columns)
            with T.serial(depth) as k:
                sums.add(lhs[number, row, k], lambda column: rhs[number, k, column])
            with T.serial(columns) as column:
                T.buffer_store(output, sums[column], [number, row, column])
    return builder.get()
