"""top_places and counted_places as loops."""

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
from qnn_ops.errors import REFUSE_PLACE
from qnn_ops.indices import counted_places, top_places
from qnn_ops.registry import Attrs, TensorSpec, spec_of


@primitive(counted_places)
def _counted_places(builder: relax.BlockBuilder, attrs: Attrs, places: relax.Expr) -> relax.Expr:
    spec = spec_of(places)
    flat, emit = (prod(spec.shape),), builder.emit
    data, function = emit(R.reshape(places, flat)), _count(attrs, spec)
    found = emit(call_loops(builder, "counted_places", function, [data], flat, spec.dtype))
    return R.reshape(found, spec.shape)


def _count(attrs: Attrs, spec: TensorSpec) -> tirx.PrimFunc:
    count, size = prod(spec.shape), attrs.size
    wide = "int64" if spec.dtype == "int64" else "int32"
    # What the dtype does not hold, no place is.
    least, most = np.iinfo(wide).min, np.iinfo(wide).max
    first, last, added = (
        tirx.const(max(least, min(each, most)), wide)
        for each in (-size if attrs.from_end else 0, size - 1, size if attrs.from_end else 0)
    )
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("counted_places")
        T.func_attr({"global_symbol": "counted_places", "tirx.noalias": True})
        places = T.arg("places", T.buffer((count,), spec.dtype))
        output = T.arg("output", T.buffer((count,), spec.dtype))

        def value(place: Any) -> Any:
            return T.Cast(wide, places[place])

        def is_beyond(place: Any) -> Any:
            return T.Or(value(place) > last, value(place) < first)

        wrong = cell("int32", 0)
        with T.serial(count) as place:  # becomes vector code, as it goes on in any case
            put(wrong, T.bitwise_or(wrong[0], T.Cast("int32", is_beyond(place))))
        with T.If(wrong[0] != 0), T.Then(), T.serial(count) as place:  # noqa: SIM117
            with T.If(is_beyond(place)), T.Then():
                found = T.Cast("int64", places[place])
                T.evaluate(T.call_packed(REFUSE_PLACE, attrs.source, found, T.int64(size)))
        with T.serial(count) as place:
            counted = T.Select(value(place) < 0, value(place) + added, value(place))
            near = T.max(T.min(counted, last), tirx.const(0, wide))
            T.buffer_store(output, T.Cast(spec.dtype, near), [place])
    return builder.get()


@primitive(top_places)
def _top_places(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    spec = spec_of(data)
    shape = (spec.shape[0], attrs.count)
    return call_loops(builder, "top_places", _top(spec, attrs.count), [data], shape, "int32")


def _top(spec: TensorSpec, count: int) -> tirx.PrimFunc:
    rows, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("top_places")
        T.func_attr({"global_symbol": "top_places", "tirx.noalias": True})
        data = T.arg("data", T.buffer((rows, size), spec.dtype))
        output = T.arg("output", T.buffer((rows, count), "int32"))
        with T.serial(rows) as row, T.serial(size) as place:

            def is_larger(other: tirx.Expr) -> tirx.Expr:
                # TIR's "and" reads both sides: there is always an element to compare with.
                return data[row, place] > data[row, output[row, T.max(other, 0)]]

            # Most elements are not among the largest, which one comparison tells.
            with T.If(T.Or(place < count, is_larger(count - 1))), T.Then():
                end = cell("int32", T.min(place, count - 1))
                with T.While(T.And(end[0] > 0, is_larger(end[0] - 1))):
                    T.buffer_store(output, output[row, end[0] - 1], [row, end[0]])
                    put(end, end[0] - 1)
                T.buffer_store(output, place, [row, end[0]])
    return builder.get()
