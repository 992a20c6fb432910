"""fused_multiply_add as a loop of its own: Relax has no such operator."""

from __future__ import annotations

from typing import Any

from tvm import relax, te
from tvm.tirx import call_llvm_pure_intrin

from legalize.primitives.registry import primitive
from qnn_ops.float_arithmetic import fused_multiply_add
from qnn_ops.registry import Attrs, spec_of


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
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    shape = [max(sizes) if 0 not in sizes else 0 for sizes in zip(*padded, strict=True)]

    def compute(*tensors: te.Tensor) -> te.Tensor:
        def element(*indices: Any) -> Any:
            values = [_at(tensor, indices) for tensor in tensors]
            return call_llvm_pure_intrin("float32", "llvm.fma.f32", *values)

        return te.compute(shape, element, "fused_multiply_add")

    result: relax.Expr = builder.emit_te(
        compute, *operands, primfunc_name_hint="fused_multiply_add"
    )
    return result


def _at(tensor: te.Tensor, indices: tuple[Any, ...]) -> Any:
    own = indices[len(indices) - len(tensor.shape) :]
    return tensor(*(0 if int(size) == 1 else i for size, i in zip(tensor.shape, own, strict=True)))
