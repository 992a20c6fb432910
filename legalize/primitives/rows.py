"""Rows averaged, scattered and hashed, as loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import primitive
from qnn_ops.hash_signs import Words, fingerprint, hash_signs
from qnn_ops.registry import Attrs, TensorSpec, spec_of
from qnn_ops.rows import average_rows, scatter_rows


@primitive(average_rows)
def _average_rows(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    rows: relax.Expr,
    weights: relax.Expr,
    indices: relax.Expr,
) -> relax.Expr:
    spec = spec_of(rows)
    function = _average(spec, attrs.count, attrs.is_root)
    operands, shape = [rows, weights, indices], (attrs.count, spec.shape[1])
    return call_loops(builder, "average_rows", function, operands, shape, "float32")


def _average(spec: TensorSpec, count: int, is_root: bool) -> tirx.PrimFunc:
    number, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("average_rows")
        T.func_attr({"global_symbol": "average_rows", "tirx.noalias": True})
        rows = T.arg("rows", T.buffer((number, size), "float32"))
        weights = T.arg("weights", T.buffer((number,), "float32"))
        indices = T.arg("indices", T.buffer((number,), "int32"))
        output = T.arg("output", T.buffer((count, size), "float32"))
        with T.serial(count) as row, T.serial(size) as column:
            T.buffer_store(output, T.float32(0), [row, column])
        total = cell("float32", T.float32(0))

        def index_of(each: Any) -> tirx.Expr:
            return T.max(T.min(indices[each], count - 1), 0)

        with T.serial(number) as each:
            put(total, total[0] + weights[each])
            with T.serial(size) as column:
                index = index_of(each)
                T.buffer_store(output, output[index, column] + rows[each, column], [index, column])
            is_last = each == number - 1
            is_other = index_of(T.min(each + 1, number - 1)) != index_of(each)
            with T.If(T.Or(is_last, is_other)), T.Then():
                with T.serial(size) as column:
                    index = index_of(each)
                    divisor = T.sqrt(total[0]) if is_root else total[0]
                    T.buffer_store(output, output[index, column] / divisor, [index, column])
                put(total, T.float32(0))
    return builder.get()


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda _, new: new,
    "add": operator.add,
    "multiply": operator.mul,
    # As C++'s, of which either may be no number.
    "maximum": lambda old, new: T.Select(old < new, new, old),
    "minimum": lambda old, new: T.Select(new < old, new, old),
}


@primitive(scatter_rows)
def _scatter_rows(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    data: relax.Expr,
    indices: relax.Expr,
    rows: relax.Expr,
) -> relax.Expr:
    spec = spec_of(data)
    function = _scatter(spec, spec_of(rows).shape[0], attrs.reduction)
    operands = [data, indices, rows]
    return call_loops(builder, "scatter_rows", function, operands, spec.shape, spec.dtype)


def _scatter(spec: TensorSpec, number: int, reduction: str) -> tirx.PrimFunc:
    count, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("scatter_rows")
        T.func_attr({"global_symbol": "scatter_rows", "tirx.noalias": True})
        data = T.arg("data", T.buffer((count, size), spec.dtype))
        indices = T.arg("indices", T.buffer((number,), "int32"))
        rows = T.arg("rows", T.buffer((number, size), spec.dtype))
        output = T.arg("output", T.buffer((count, size), spec.dtype))
        with T.serial(count) as row, T.serial(size) as column:
            T.buffer_store(output, data[row, column], [row, column])
        with T.serial(number) as each, T.serial(size) as column:
            index = T.max(T.min(indices[each], count - 1), 0)
            old, new = output[index, column], rows[each, column]
            if spec.dtype == "int32":
                # In 64 bits, as TVM lets LLVM assume that int32 does not overflow.
                old, new = T.cast(old, "int64"), T.cast(new, "int64")
            value = T.cast(_COMBINED[reduction](old, new), spec.dtype)
            T.buffer_store(output, value, [index, column])
    return builder.get()


# Below all products but infinite ones: of a float32 and an int64.
_LOWEST = -1e300


@primitive(hash_signs)
def _hash_signs(
    builder: relax.BlockBuilder,
    _: Attrs,
    items: relax.Expr,
    weights: relax.Expr,
    seeds: relax.Expr,
) -> relax.Expr:
    spec, (count,) = spec_of(items), spec_of(seeds).shape
    function = _hash(spec, count)
    return call_loops(builder, "hash_signs", function, [items, weights, seeds], (count,), "int32")


def _hash(spec: TensorSpec, count: int) -> tirx.PrimFunc:
    number, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("hash_signs")
        T.func_attr({"global_symbol": "hash_signs", "tirx.noalias": True})
        items = T.arg("items", T.buffer((number, size), "uint8"))
        weights = T.arg("weights", T.buffer((number,), "float32"))
        seeds = T.arg("seeds", T.buffer((count,), "float32"))
        output = T.arg("output", T.buffer((count,), "int32"))
        with T.serial(count) as index:
            total = cell("float64", T.float64(0))
            with T.serial(number) as each:
                seed = T.Bind(T.Cast("uint64", T.reinterpret("uint32", seeds[index])))

                def byte(number: int, each: Any = each, seed: Any = seed) -> Any:
                    if number >= 4:
                        return T.Cast("uint64", items[each, number - 4])
                    return (seed >> T.uint64(8 * number)) & T.uint64(255)

                # TVM takes long over expressions in which it sees all that was computed before.
                words = Words(
                    size + 4,
                    byte,
                    lambda word: tirx.const(word, "uint64"),
                    lambda word: cell("uint64", word)[0],
                )
                signed = T.reinterpret("int64", fingerprint(words))
                weight = T.Cast("float64", weights[each])
                product = T.Bind(weight * T.Cast("float64", signed))
                # A choice, which changes no number, keeps product and sum from becoming one.
                rounded = T.Select(product < tirx.const(_LOWEST, "float64"), 2 * product, product)
                put(total, total[0] + rounded)
            T.buffer_store(output, T.Cast("int32", total[0] > T.float64(0)), [index])
    return builder.get()
