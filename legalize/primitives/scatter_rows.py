"""scatter_rows as loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.registry import Attrs, TensorSpec, spec_of
from qnn_ops.rows import scatter_rows

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
    places: relax.Expr,
    rows: relax.Expr,
) -> relax.Expr:
    spec = spec_of(data)
    function = _function(spec, spec_of(rows).shape[0], attrs.reduction)
    operands = [data, places, rows]
    return call_loops(builder, "scatter_rows", function, operands, spec.shape, spec.dtype)


def _function(spec: TensorSpec, number: int, reduction: str) -> tirx.PrimFunc:
    count, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("scatter_rows")
        T.func_attr({"global_symbol": "scatter_rows", "tirx.noalias": True})
        data = T.arg("data", T.buffer((count, size), spec.dtype))
        places = T.arg("places", T.buffer((number,), "int32"))
        rows = T.arg("rows", T.buffer((number, size), spec.dtype))
        output = T.arg("output", T.buffer((count, size), spec.dtype))
        with T.serial(count) as row, T.serial(size) as column:
            T.buffer_store(output, data[row, column], [row, column])
        with T.serial(number) as each, T.serial(size) as column:
            place = T.max(T.min(places[each], count - 1), 0)
            old, new = output[place, column], rows[each, column]
            if spec.dtype == "int32":
                # In 64 bits, as TVM lets LLVM assume that int32 does not overflow.
                old, new = T.cast(old, "int64"), T.cast(new, "int64")
            value = T.cast(_COMBINED[reduction](old, new), spec.dtype)
            T.buffer_store(output, value, [place, column])
    return builder.get()
