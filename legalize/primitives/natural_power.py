"""natural_power as loops: one over the exponent's bits, and in it one over the data."""

from __future__ import annotations

import numpy as np
from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.float_arithmetic import natural_power
from qnn_ops.registry import Attrs, TensorSpec, spec_of

_HIGHEST = 30  # bit of a positive int32
_MOST = float(np.finfo(np.float32).max)


@primitive(natural_power)
def _natural_power(
    builder: relax.BlockBuilder, _: Attrs, data: relax.Expr, exponent: relax.Expr
) -> relax.Expr:
    spec = spec_of(data)
    operands = [data, exponent]
    return call_loops(builder, "natural_power", _function(spec), operands, spec.shape, spec.dtype)


def _function(spec: TensorSpec) -> tirx.PrimFunc:
    (size,), product = spec.shape, _wrapped if spec.dtype == "int32" else _clamped
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("natural_power")
        T.func_attr({"global_symbol": "natural_power", "tirx.noalias": True})
        data = T.arg("data", T.buffer((size,), spec.dtype))
        exponent = T.arg("exponent", T.buffer((1,), "int32"))
        output = T.arg("output", T.buffer((size,), spec.dtype))
        with T.serial(size) as place:
            T.buffer_store(output, data[place], [place])
        with T.serial(_HIGHEST) as turn:
            left = T.shift_right(T.max(exponent[0], 1), _HIGHEST - 1 - turn)
            with T.If(left > 1), T.Then():
                with T.serial(size) as place:
                    square = product(output[place], output[place])
                    T.buffer_store(output, square, [place])
                with T.If(T.bitwise_and(left, 1) == 1), T.Then(), T.serial(size) as place:
                    more = product(data[place], output[place])
                    T.buffer_store(output, more, [place])
    return builder.get()


def _wrapped(lhs: tirx.Expr, rhs: tirx.Expr) -> tirx.Expr:
    # In 64 bits, as TVM lets LLVM assume that int32 does not overflow.
    return T.cast(T.cast(lhs, "int64") * T.cast(rhs, "int64"), "int32")


def _clamped(lhs: tirx.Expr, rhs: tirx.Expr) -> tirx.Expr:
    product, most, lowest = lhs * rhs, T.float32(_MOST), T.float32(-_MOST)
    # What is no number stays so.
    return T.Select(product > most, most, T.Select(product < lowest, lowest, product))
