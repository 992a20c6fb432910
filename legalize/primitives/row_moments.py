"""row_moments as loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.float_layers import rounded
from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.row_moments import LANES, WIDE, row_moments

_LANES = (16, 8, 4, 2)
"""Rows that are added at a time, each in a lane: their sums wait for no other."""

_ALONG = ("vectors", "vector_squares")
"""Orders whose lanes lie along a row."""


@primitive(row_moments)
def _row_moments(builder: relax.BlockBuilder, attrs: Attrs, rows: relax.Expr) -> relax.Expr:
    number, size = spec_of(rows).shape
    write = _lanes_along if attrs.order in _ALONG else _lanes_across
    function = write(number, size, attrs.order)
    return call_loops(builder, "row_moments", function, [rows], (number, 2), "float32")


def _lanes_along(number: int, size: int, order: str) -> tirx.PrimFunc:
    """Write the function of orders whose lanes lie along a row, some rows at a time."""
    turn = next(each for each in (4, 2, 1) if number % each == 0)
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("row_moments")
        T.func_attr({"global_symbol": "row_moments", "tirx.noalias": True})
        rows = T.arg("rows", T.buffer((number, size), "float32"))
        output = T.arg("output", T.buffer((number, 2), "float32"))
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
    return builder.get()


def _added_along(
    sums: Any,
    lanes: int,
    turn: int,
    size: int,
    element: Callable[[Any, Any], Any],
    *,
    squares: bool = False,
) -> None:
    """Add up elements of some rows in lanes, or their squares, to the first lane of each row."""

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


def _lanes_across(number: int, size: int, order: str) -> tirx.PrimFunc:
    """Write the function of orders that add one by one: rows are the lanes."""
    lanes = next((each for each in _LANES if number % each == 0), 1)
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("row_moments")
        T.func_attr({"global_symbol": "row_moments", "tirx.noalias": True})
        rows = T.arg("rows", T.buffer((number, size), "float32"))
        output = T.arg("output", T.buffer((number, 2), "float32"))
        mean, squares = (T.alloc_buffer((lanes,), "float32", scope="global") for _ in range(2))
        with T.serial(number // lanes) as block:
            with T.vectorized(lanes) as lane:
                T.buffer_store(mean, T.float32(0), [lane])
                T.buffer_store(squares, T.float32(0), [lane])

            def element(column: Any, lane: Any) -> Any:
                return rows[block * lanes + lane, column]

            _RULES[order](element, mean, squares, size, lanes)
            with T.vectorized(lanes) as lane:
                T.buffer_store(output, mean[lane], [block * lanes + lane, 0])
                share = squares[lane] / T.float32(size)
                T.buffer_store(output, share, [block * lanes + lane, 1])
    return builder.get()


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
