"""top_indices and counted_indices as loops."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import primitive
from qnn_ops.errors import REFUSE_INDEX
from qnn_ops.indices import counted_indices, top_indices
from qnn_ops.registry import Attrs, TensorSpec, spec_of


@primitive(counted_indices)
def _counted_indices(builder: relax.BlockBuilder, attrs: Attrs, indices: relax.Expr) -> relax.Expr:
    spec = spec_of(indices)
    flat, emit = (prod(spec.shape),), builder.emit
    data, function = emit(R.reshape(indices, flat)), _count(attrs, spec)
    found = emit(call_loops(builder, "counted_indices", function, [data], flat, spec.dtype))
    return R.reshape(found, spec.shape)


def _count(attrs: Attrs, spec: TensorSpec) -> tirx.PrimFunc:
    count, size = prod(spec.shape), attrs.size
    wide = "int64" if spec.dtype == "int64" else "int32"
    # What the dtype does not hold, no index is.
    least, most = np.iinfo(wide).min, np.iinfo(wide).max
    first, last, added = (
        tirx.const(max(least, min(each, most)), wide)
        for each in (-size if attrs.from_end else 0, size - 1, size if attrs.from_end else 0)
    )
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("counted_indices")
        T.func_attr({"global_symbol": "counted_indices", "tirx.noalias": True})
        indices = T.arg("indices", T.buffer((count,), spec.dtype))
        output = T.arg("output", T.buffer((count,), spec.dtype))

        def value(index: Any) -> Any:
            return T.Cast(wide, indices[index])

        def is_beyond(index: Any) -> Any:
            return T.Or(value(index) > last, value(index) < first)

        wrong = cell("int32", 0)
        with T.serial(count) as index:  # becomes vector code, as it goes on in any case
            put(wrong, T.bitwise_or(wrong[0], T.Cast("int32", is_beyond(index))))
        with T.If(wrong[0] != 0), T.Then(), T.serial(count) as index:  # noqa: SIM117
            with T.If(is_beyond(index)), T.Then():
                found = T.Cast("int64", indices[index])
                T.evaluate(T.call_packed(REFUSE_INDEX, attrs.source, found, T.int64(size)))
        with T.serial(count) as index:
            counted = T.Select(value(index) < 0, value(index) + added, value(index))
            near = T.max(T.min(counted, last), tirx.const(0, wide))
            T.buffer_store(output, T.Cast(spec.dtype, near), [index])
    return builder.get()


@primitive(top_indices)
def _top_indices(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    spec = spec_of(data)
    shape = (spec.shape[0], attrs.count)
    return call_loops(builder, "top_indices", _top(spec, attrs.count), [data], shape, "int32")


def _top(spec: TensorSpec, count: int) -> tirx.PrimFunc:
    rows, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("top_indices")
        T.func_attr({"global_symbol": "top_indices", "tirx.noalias": True})
        data = T.arg("data", T.buffer((rows, size), spec.dtype))
        output = T.arg("output", T.buffer((rows, count), "int32"))
        with T.serial(rows) as row, T.serial(size) as index:

            def is_larger(other: tirx.Expr) -> tirx.Expr:
                # TIR's "and" reads both sides: there is always an element to compare with.
                return data[row, index] > data[row, output[row, T.max(other, 0)]]

            # Most elements are not among the largest, which one comparison tells.
            with T.If(T.Or(index < count, is_larger(count - 1))), T.Then():
                end = cell("int32", T.min(index, count - 1))
                with T.While(T.And(end[0] > 0, is_larger(end[0] - 1))):
                    T.buffer_store(output, output[row, end[0] - 1], [row, end[0]])
                    put(end, end[0] - 1)
                T.buffer_store(output, index, [row, end[0]])
    return builder.get()
