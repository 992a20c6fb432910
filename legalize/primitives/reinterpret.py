"""reinterpret as a loop."""

from __future__ import annotations

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.float_arithmetic import OTHER, reinterpret
from qnn_ops.registry import Attrs, TensorSpec, spec_of


@primitive(reinterpret)
def _reinterpret(builder: relax.BlockBuilder, _: Attrs, data: relax.Expr) -> relax.Expr:
    spec = spec_of(data)
    dtype = OTHER[spec.dtype]
    return call_loops(builder, "reinterpret", _function(spec), [data], spec.shape, dtype)


def _function(spec: TensorSpec) -> tirx.PrimFunc:
    (size,), dtype = spec.shape, OTHER[spec.dtype]
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("reinterpret")
        T.func_attr({"global_symbol": "reinterpret", "tirx.noalias": True})
        data = T.arg("data", T.buffer((size,), spec.dtype))
        output = T.arg("output", T.buffer((size,), dtype))
        with T.serial(size) as place:
            T.buffer_store(output, T.reinterpret(dtype, data[place]), [place])
    return builder.get()
