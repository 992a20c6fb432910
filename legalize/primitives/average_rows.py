"""average_rows as loops."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import primitive
from qnn_ops.registry import Attrs, TensorSpec, spec_of
from qnn_ops.rows import average_rows


@primitive(average_rows)
def _average_rows(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    rows: relax.Expr,
    weights: relax.Expr,
    places: relax.Expr,
) -> relax.Expr:
    spec = spec_of(rows)
    function = _function(spec, attrs.count, attrs.is_root)
    operands, shape = [rows, weights, places], (attrs.count, spec.shape[1])
    return call_loops(builder, "average_rows", function, operands, shape, "float32")


def _function(spec: TensorSpec, count: int, is_root: bool) -> tirx.PrimFunc:
    number, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("average_rows")
        T.func_attr({"global_symbol": "average_rows", "tirx.noalias": True})
        rows = T.arg("rows", T.buffer((number, size), "float32"))
        weights = T.arg("weights", T.buffer((number,), "float32"))
        places = T.arg("places", T.buffer((number,), "int32"))
        output = T.arg("output", T.buffer((count, size), "float32"))
        with T.serial(count) as row, T.serial(size) as column:
            T.buffer_store(output, T.float32(0), [row, column])
        total = cell("float32", T.float32(0))

        def place_of(each: Any) -> tirx.Expr:
            return T.max(T.min(places[each], count - 1), 0)

        with T.serial(number) as each:
            put(total, total[0] + weights[each])
            with T.serial(size) as column:
                place = place_of(each)
                T.buffer_store(output, output[place, column] + rows[each, column], [place, column])
            is_last = each == number - 1
            is_other = place_of(T.min(each + 1, number - 1)) != place_of(each)
            with T.If(T.Or(is_last, is_other)), T.Then():
                with T.serial(size) as column:
                    place = place_of(each)
                    divisor = T.sqrt(total[0]) if is_root else total[0]
                    T.buffer_store(output, output[place, column] / divisor, [place, column])
                put(total, T.float32(0))
    return builder.get()
