"""fused_multiply_add, natural_power and reinterpret as loops: Relax has no such operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T
from tvm.tirx import call_llvm_pure_intrin

from legalize.primitives.loops import call_loops
from legalize.primitives.registry import primitive
from qnn_ops.expressions import Expression, implement, operand
from qnn_ops.float_arithmetic import OTHER, fused_multiply_add, natural_power, reinterpret
from qnn_ops.float_epilogue import fused_multiply_add_float32
from qnn_ops.registry import Attrs, TensorSpec, spec_of
from qnn_ops.sizes import as_extent, broadcast, sizes_of


@primitive(fused_multiply_add)
def _fused_multiply_add(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    lhs: relax.Expr,
    rhs: relax.Expr,
    addend: relax.Expr,
) -> relax.Expr:
    return multiply_add(builder, lhs, rhs, addend)


def multiply_add(
    builder: relax.BlockBuilder, lhs: relax.Expr, rhs: relax.Expr, addend: relax.Expr
) -> relax.Expr:
    """Return the sum lhs * rhs + addend of float32 expressions that broadcast, rounded once."""
    operands = [builder.normalize(operand) for operand in (lhs, rhs, addend)]
    shapes = [spec_of(operand).shape for operand in operands]
    shape = list(map(as_extent, broadcast(*shapes)))

    def compute(*tensors: te.Tensor) -> te.Tensor:
        def element(*indices: Any) -> Any:
            values = [_at(tensor, indices) for tensor in tensors]
            return call_llvm_pure_intrin("float32", "llvm.fma.f32", *values)

        return te.compute(shape, element, "fused_multiply_add")

    result: relax.Expr = builder.emit_te(
        compute, *operands, primfunc_name_hint="fused_multiply_add"
    )
    return result


@implement(fused_multiply_add_float32)
def _multiply_add(*factors_and_addend: Any) -> Expression:
    first: Expression = factors_and_addend[0]
    operands = (operand(each, np.float32) for each in factors_and_addend)
    return first.to(multiply_add(first.builder, *operands))


def _at(tensor: te.Tensor, indices: tuple[Any, ...]) -> Any:
    own = indices[len(indices) - len(tensor.shape) :]
    return tensor(
        *(0 if size == 1 else i for size, i in zip(sizes_of(tensor.shape), own, strict=True))
    )


_HIGHEST = 30  # bit of a positive int32
_MOST = float(np.finfo(np.float32).max)


@primitive(natural_power)
def _natural_power(
    builder: relax.BlockBuilder, _: Attrs, data: relax.Expr, exponent: relax.Expr
) -> relax.Expr:
    spec = spec_of(data)
    operands = [data, exponent]
    return call_loops(
        builder, "natural_power", _power_loops(spec), operands, spec.shape, spec.dtype
    )


def _power_loops(spec: TensorSpec) -> tirx.PrimFunc:
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


@primitive(reinterpret)
def _reinterpret(builder: relax.BlockBuilder, _: Attrs, data: relax.Expr) -> relax.Expr:
    spec = spec_of(data)
    dtype = OTHER[spec.dtype]
    return call_loops(builder, "reinterpret", _bits_loops(spec), [data], spec.shape, dtype)


def _bits_loops(spec: TensorSpec) -> tirx.PrimFunc:
    (size,), dtype = spec.shape, OTHER[spec.dtype]
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("reinterpret")
        T.func_attr({"global_symbol": "reinterpret", "tirx.noalias": True})
        data = T.arg("data", T.buffer((size,), spec.dtype))
        output = T.arg("output", T.buffer((size,), dtype))
        with T.serial(size) as place:
            T.buffer_store(output, T.reinterpret(dtype, data[place]), [place])
    return builder.get()
