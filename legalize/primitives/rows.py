"""Writes loops that average, scatter and hash rows, and that check and find indices."""

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from tvm import tirx
from tvm.relax import Expr
from tvm.relax import op as R
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import Builder, primitive
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.errors import REFUSE_INDEX
from qnn_ops.unquantized.hash_signs import Words, fingerprint, hash_signs
from qnn_ops.unquantized.indices import counted_indices, top_indices
from qnn_ops.unquantized.rows import average_rows, scatter_rows


@primitive(average_rows)
def _average_rows(builder: Builder, attrs: Attrs, rows: Expr, weights: Expr, indices: Expr) -> Expr:
    (number, size), count = spec_of(rows).shape, attrs.count

    def write(rows: Any, weights: Any, indices: Any, output: Any) -> None:
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
                    divisor = T.sqrt(total[0]) if attrs.is_root else total[0]
                    T.buffer_store(output, output[index, column] / divisor, [index, column])
                put(total, T.float32(0))

    operands = [rows, weights, indices]
    return call_loops(builder, "average_rows", operands, (count, size), "float32", write)


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda _, new: new,
    "add": operator.add,
    "multiply": operator.mul,
    # This compares as C++ does, also if one of the two is NaN.
    "maximum": lambda old, new: T.Select(old < new, new, old),
    "minimum": lambda old, new: T.Select(new < old, new, old),
}


@primitive(scatter_rows)
def _scatter_rows(builder: Builder, attrs: Attrs, data: Expr, indices: Expr, rows: Expr) -> Expr:
    spec, number = spec_of(data), spec_of(rows).shape[0]
    count, size = spec.shape

    def write(data: Any, indices: Any, rows: Any, output: Any) -> None:
        with T.serial(count) as row, T.serial(size) as column:
            T.buffer_store(output, data[row, column], [row, column])
        with T.serial(number) as each, T.serial(size) as column:
            index = T.max(T.min(indices[each], count - 1), 0)
            old, new = output[index, column], rows[each, column]
            if spec.dtype == "int32":
                # This has 64 bits, as TVM lets LLVM assume that int32 does not overflow.
                old, new = T.cast(old, "int64"), T.cast(new, "int64")
            value = T.cast(_COMBINED[attrs.reduction](old, new), spec.dtype)
            T.buffer_store(output, value, [index, column])

    operands = [data, indices, rows]
    return call_loops(builder, "scatter_rows", operands, spec.shape, spec.dtype, write)


# This is below all finite products of a float32 and an int64.
_LOWEST = -1e300


@primitive(hash_signs)
def _hash_signs(builder: Builder, _: Attrs, items: Expr, weights: Expr, seeds: Expr) -> Expr:
    (number, size), (count,) = spec_of(items).shape, spec_of(seeds).shape

    def write(items: Any, weights: Any, seeds: Any, output: Any) -> None:
        with T.serial(count) as index:
            total = cell("float64", T.float64(0))
            with T.serial(number) as each:
                seed = T.Bind(T.Cast("uint64", T.reinterpret("uint32", seeds[index])))

                def byte(number: int, each: Any = each, seed: Any = seed) -> Any:
                    if number >= 4:
                        return T.Cast("uint64", items[each, number - 4])
                    return (seed >> T.uint64(8 * number)) & T.uint64(255)

                # Each word is a cell: TVM is slow with expressions that contain all earlier ones.
                words = Words(
                    size + 4,
                    byte,
                    lambda word: tirx.const(word, "uint64"),
                    lambda word: cell("uint64", word)[0],
                )
                signed = T.reinterpret("int64", fingerprint(words))
                weight = T.Cast("float64", weights[each])
                product = T.Bind(weight * T.Cast("float64", signed))
                # A choice, which changes no number, keeps product and sum from being fused.
                rounded = T.Select(product < tirx.const(_LOWEST, "float64"), 2 * product, product)
                put(total, total[0] + rounded)
            T.buffer_store(output, T.Cast("int32", total[0] > T.float64(0)), [index])

    return call_loops(builder, "hash_signs", [items, weights, seeds], (count,), "int32", write)


@primitive(counted_indices)
def _counted_indices(builder: Builder, attrs: Attrs, indices: Expr) -> Expr:
    spec, emit = spec_of(indices), builder.emit
    count, size = prod(spec.shape), attrs.size
    wide = "int64" if spec.dtype == "int64" else "int32"
    # No index is beyond the dtype's own limits.
    least, most = np.iinfo(wide).min, np.iinfo(wide).max
    first, last, added = (
        tirx.const(max(least, min(each, most)), wide)
        for each in (-size if attrs.from_end else 0, size - 1, size if attrs.from_end else 0)
    )

    def write(indices: Any, output: Any) -> None:
        def value(index: Any) -> Any:
            return T.Cast(wide, indices[index])

        def is_beyond(index: Any) -> Any:
            return T.Or(value(index) > last, value(index) < first)

        wrong = cell("int32", 0)
        with T.serial(count) as index:  # this becomes vector code, as nothing ends the loop early
            put(wrong, T.bitwise_or(wrong[0], T.Cast("int32", is_beyond(index))))
        with T.If(wrong[0] != 0), T.Then(), T.serial(count) as index:  # noqa: SIM117
            with T.If(is_beyond(index)), T.Then():
                found = T.Cast("int64", indices[index])
                T.evaluate(T.call_packed(REFUSE_INDEX, attrs.source, found, T.int64(size)))
        with T.serial(count) as index:
            counted = T.Select(value(index) < 0, value(index) + added, value(index))
            near = T.max(T.min(counted, last), tirx.const(0, wide))
            T.buffer_store(output, T.Cast(spec.dtype, near), [index])

    data = emit(R.reshape(indices, (count,)))
    found = emit(call_loops(builder, "counted_indices", [data], (count,), spec.dtype, write))
    return R.reshape(found, spec.shape)


@primitive(top_indices)
def _top_indices(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    (rows, size), count = spec_of(data).shape, attrs.count

    def write(data: Any, output: Any) -> None:
        with T.serial(rows) as row:
            # TIR's "or" and "and" read both sides, so there is always an index of an element.
            with T.serial(count) as each:
                T.buffer_store(output, 0, [row, each])
            with T.serial(size) as index:

                def is_larger(other: tirx.Expr) -> tirx.Expr:
                    return data[row, index] > data[row, output[row, T.max(other, 0)]]

                # Most elements are not among the largest. One comparison finds that.
                with T.If(T.Or(index < count, is_larger(count - 1))), T.Then():
                    end = cell("int32", T.min(index, count - 1))
                    with T.While(T.And(end[0] > 0, is_larger(end[0] - 1))):
                        T.buffer_store(output, output[row, end[0] - 1], [row, end[0]])
                        put(end, end[0] - 1)
                    T.buffer_store(output, index, [row, end[0]])

    return call_loops(builder, "top_indices", [data], (rows, count), "int32", write)
