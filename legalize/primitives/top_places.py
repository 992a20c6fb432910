"""top_places as loops: a list of the largest so far, into which each element is inserted."""

from __future__ import annotations

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import primitive
from qnn_ops.indices import top_places
from qnn_ops.registry import Attrs, TensorSpec, spec_of


@primitive(top_places)
def _top_places(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    spec = spec_of(data)
    shape = (spec.shape[0], attrs.count)
    return call_loops(builder, "top_places", _function(spec, attrs.count), [data], shape, "int32")


def _function(spec: TensorSpec, count: int) -> tirx.PrimFunc:
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
