"""Convolutions, products and moments of floats as loops, which add in a stated order.

Relax's own operators may fuse products with their sums.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import Expr
from tvm.relax import op as R
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops
from legalize.primitives.registry import Builder, primitive
from qnn_ops.dialect.layouts import permutation
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import as_extent, is_open
from qnn_ops.dialect.windows import counts_of
from qnn_ops.quantized.matmul import float_matmul
from qnn_ops.unquantized.float_conv2d import ORDERS, bounds_of, float_conv2d
from qnn_ops.unquantized.row_moments import LANES, WIDE, row_moments

_MOST = float(np.finfo(np.float32).max)


class Sums:
    """Sums that begin at 0, side by side in memory."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._values = T.alloc_buffer((count,), "float32", scope="global")
        with T.serial(count) as place:
            T.buffer_store(self._values, T.float32(0), [place])

    def __getitem__(self, place: Any) -> Any:
        """Return the sum at an index."""
        return self._values[place]

    def add(self, factor: Any, other: Callable[[Any], Any]) -> None:
        """Add to each sum the product of a factor and the number at the sum's index."""
        with T.serial(self._count) as place:
            total = self._values[place] + rounded(factor * other(place))
            T.buffer_store(self._values, total, [place])


def rounded(product: Any) -> Any:
    """Round a product before a sum, as qnn_ops.arithmetic.rounded does."""
    variable = tirx.Var("product", "float32")
    is_infinite = tirx.abs(variable) > T.float32(_MOST)
    return tirx.Let(variable, product, tirx.Select(is_infinite, variable * 2.0, variable))


@primitive(float_conv2d)
def _float_conv2d(
    builder: Builder,
    attrs: Attrs,
    data: Expr,
    kernel: Expr,
    bias: Expr | None = None,
    addend: Expr | None = None,
) -> Expr:
    emit = builder.emit

    def moved(value: Expr, source: str, target: str) -> Expr:
        return (
            value if source == target else emit(R.permute_dims(value, permutation(source, target)))
        )

    def finished(sums: Expr) -> Expr:
        total = sums if bias is None else R.add(emit(sums), bias)
        if addend is not None:
            total = R.add(emit(total), moved(addend, attrs.out_layout, "NHWC"))
        return moved(_clamped(builder, attrs, total), "NHWC", attrs.out_layout)

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
        return finished(result)
    shape = (sizes[0], *counts_of(attrs, sizes[1:3], window[:2]), window[3])
    units = shape[3] // attrs.groups

    def write(data: Any, kernel: Any, output: Any) -> None:
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

    result = call_loops(builder, "float_conv2d", [images, weights], shape, "float32", write)
    return finished(result)


def _clamped(builder: Builder, attrs: Attrs, result: Expr) -> Expr:
    """Clamp a result; NaN stays NaN."""
    for end, is_beyond in zip(bounds_of(attrs), (R.less, R.greater), strict=True):
        if end is not None:
            result, bound = builder.emit(result), relax.const(end, "float32")
            result = R.where(is_beyond(result, bound), bound, result)
    return result


@primitive(float_matmul)
def _float_matmul(builder: Builder, attrs: Attrs, lhs: Expr, rhs: Expr) -> Expr:
    if attrs.order != ORDERS[0]:
        return R.matmul(lhs, rhs)
    (*left, rows, depth), (*right, _, columns) = spec_of(lhs).shape, spec_of(rhs).shape
    rank = max(len(left), len(right))
    pairs = [[1] * (rank - len(each)) + each for each in (left, right)]
    outer = [max(sizes) if 0 not in sizes else 0 for sizes in zip(*pairs, strict=True)]

    def whole(value: Expr, own: list[int], matrix: tuple[int, int]) -> Expr:
        if own != outer:
            value = builder.emit(R.broadcast_to(value, (*outer, *matrix)))
        return builder.emit(R.reshape(value, (prod(outer), *matrix)))

    def write(lhs: Any, rhs: Any, output: Any) -> None:
        with T.grid(prod(outer), rows) as (number, row):
            sums = Sums(columns)
            with T.serial(depth) as k:
                sums.add(lhs[number, row, k], lambda column: rhs[number, k, column])
            with T.serial(columns) as column:
                T.buffer_store(output, sums[column], [number, row, column])

    given = [whole(lhs, left, (rows, depth)), whole(rhs, right, (depth, columns))]
    shape = (prod(outer), rows, columns)
    result = call_loops(builder, "float_matmul", given, shape, "float32", write)
    return R.reshape(builder.emit(result), (*outer, rows, columns))


_LANES = (16, 8, 4, 2, 1)
"""The numbers of rows that are added at a time, each in a lane: no sum waits for another."""

_ALONG = ("vectors", "vector_squares")
"""The orders whose lanes lie along a row."""


@primitive(row_moments)
def _row_moments(builder: Builder, attrs: Attrs, rows: Expr) -> Expr:
    number, size = spec_of(rows).shape
    lanes = _lanes_along if attrs.order in _ALONG else _lanes_across
    write = lanes(number, size, attrs.order)
    return call_loops(builder, "row_moments", [rows], (number, 2), "float32", write)


def _lanes_along(number: int, size: int, order: str) -> Callable[[Any, Any], None]:
    """Return a writer of orders whose lanes lie along a row, some rows at a time."""
    turn = next(each for each in (4, 2, 1) if number % each == 0)

    def write(rows: Any, output: Any) -> None:
        wide = T.alloc_buffer((turn * WIDE,), "float64", scope="global")
        sums = T.alloc_buffer((turn * LANES,), "float32", scope="global")
        mean = T.alloc_buffer((turn,), "float32", scope="global")
        with T.serial(number // turn) as block:

            def row(number: Any) -> Any:
                return block * turn + number

            if order == "vectors":
                _added_along(
                    wide, WIDE, turn, size, lambda r, c: T.Cast("float64", rows[row(r), c])
                )
            with T.unroll(turn) as each:
                total = T.float32(0)
                if order == "vectors":
                    total = T.Cast("float32", wide[each * WIDE] / T.float64(size))
                T.buffer_store(mean, total, [each])
                T.buffer_store(output, mean[each], [row(each), 0])
            _added_along(
                sums, LANES, turn, size, lambda r, c: rows[row(r), c] - mean[r], squares=True
            )
            with T.unroll(turn) as each:
                share = sums[each * LANES] / T.float32(size)
                T.buffer_store(output, share, [row(each), 1])

    return write


def _added_along(
    sums: Any,
    lanes: int,
    turn: int,
    size: int,
    element: Callable[[Any, Any], Any],
    *,
    squares: bool = False,
) -> None:
    """Add elements of some rows, or their squares, in lanes; the first lane gets each row's sum."""

    def add(place: Any, value: Any, *, is_fused: bool = True) -> None:
        total = sums[place]
        if not squares:
            total = total + value
        elif is_fused:
            total = tirx.call_llvm_pure_intrin("float32", "llvm.fma.f32", value, value, total)
        else:
            total = total + rounded(value * value)
        T.buffer_store(sums, total, [place])

    whole, apart = size // lanes * lanes, size // (lanes // 2) * (lanes // 2)
    with T.vectorized(turn * lanes) as lane:
        T.buffer_store(sums, T.Cast(str(sums.dtype), 0), [lane])
    with T.serial(whole // lanes) as step, T.unroll(turn) as row, T.vectorized(lanes) as lane:
        add(row * lanes + lane, element(row, step * lanes + lane))
    half = lanes // 2
    while half:
        with T.unroll(turn) as row, T.vectorized(half) as lane:
            place = row * lanes + lane
            T.buffer_store(sums, sums[place] + sums[place + half], [place])
        half //= 2
    for column in range(whole, size):
        with T.unroll(turn) as row:
            add(row * lanes, element(row, column), is_fused=column >= apart)


def _lanes_across(number: int, size: int, order: str) -> Callable[[Any, Any], None]:
    """Return a writer of orders that add one by one: rows are the lanes.

    The last lanes overlap those before. If the number is open, lanes past the last row repeat it.
    """
    is_known = not is_open([number])
    lanes = next(each for each in _LANES if not is_known or each <= number)

    def write(rows: Any, output: Any) -> None:
        mean, squares = (T.alloc_buffer((lanes,), "float32", scope="global") for _ in range(2))
        with T.serial(as_extent((number + (lanes - 1)) // lanes)) as block:
            with T.vectorized(lanes) as lane:
                T.buffer_store(mean, T.float32(0), [lane])
                T.buffer_store(squares, T.float32(0), [lane])

            def row(lane: Any) -> Any:
                if is_known:
                    return T.min(block * lanes, number - lanes) + lane
                return T.min(block * lanes + lane, as_extent(number - 1))

            def element(column: Any, lane: Any) -> Any:
                return rows[row(lane), column]

            _RULES[order](element, mean, squares, size, lanes)
            with T.vectorized(lanes) as lane:
                T.buffer_store(output, mean[lane], [row(lane), 0])
                share = squares[lane] / T.float32(size)
                T.buffer_store(output, share, [row(lane), 1])

    return write


def _two_passes(
    element: Callable[[Any, Any], Any], mean: Any, squares: Any, size: int, lanes: int
) -> None:
    with T.serial(size) as column, T.vectorized(lanes) as lane:
        T.buffer_store(mean, mean[lane] + element(column, lane), [lane])
    with T.vectorized(lanes) as lane:
        T.buffer_store(mean, mean[lane] / T.float32(size), [lane])
    with T.serial(size) as column, T.vectorized(lanes) as lane:
        distance = element(column, lane) - mean[lane]
        T.buffer_store(squares, squares[lane] + rounded(distance * distance), [lane])


def _welford(
    element: Callable[[Any, Any], Any], mean: Any, squares: Any, size: int, lanes: int
) -> None:
    distance = T.alloc_buffer((lanes,), "float32", scope="global")
    with T.serial(size) as column, T.vectorized(lanes) as lane:
        T.buffer_store(distance, element(column, lane) - mean[lane], [lane])
        count = T.Cast("float32", column + 1)
        T.buffer_store(mean, mean[lane] + distance[lane] / count, [lane])
        product = distance[lane] * (element(column, lane) - mean[lane])
        T.buffer_store(squares, squares[lane] + rounded(product), [lane])


def _squares(
    element: Callable[[Any, Any], Any], _mean: Any, squares: Any, size: int, lanes: int
) -> None:
    with T.serial(size) as column, T.vectorized(lanes) as lane:
        product = element(column, lane) * element(column, lane)
        T.buffer_store(squares, squares[lane] + rounded(product), [lane])


_RULES: dict[str, Callable[[Callable[[Any, Any], Any], Any, Any, int, int], None]] = {
    "two_passes": _two_passes,
    "welford": _welford,
    "squares": _squares,
}
