"""Rules for products of matrices."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import tirx

from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.conv2d.arm.epilogue import can_requantize
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.arm import ARMV7, DOTPROD, NEON
from legalize.kernels.isa.arm import Isa as ArmIsa
from legalize.kernels.isa.x86 import ISAS
from legalize.kernels.isa.x86 import Isa as X86Isa
from legalize.kernels.kernel import Builder, Lowered, OpenRule, Operands, Row
from legalize.kernels.matmul import arm, x86
from legalize.kernels.matmul.open_sizes import open_matmul
from legalize.kernels.matmul.spec import MatmulCall, dense_call, matmul_call
from qnn_ops import quantized_dense, quantized_matmul
from qnn_ops.arithmetic.rounding import ROUNDINGS
from qnn_ops.dialect.registry import Attrs, as_const

Planned = tuple[tirx.PrimFunc, tuple[Array, ...]]
"""A function, and the constants that it takes after the matrices."""


def _on_x86(call: MatmulCall, isa: X86Isa) -> Planned | None:
    if call.spec.output.rounding not in ROUNDINGS:
        return None
    return open_matmul(call, isa) if call.spec.is_open else x86.matmul(call, isa)


def _on_arm(call: MatmulCall, isa: ArmIsa) -> Planned | None:
    rounding = call.spec.output.rounding
    if rounding not in ROUNDINGS or not can_requantize(isa, rounding, call.factor):
        return None
    return arm.matmul(call, isa)


def _rule(
    builder: Builder,
    attrs: Attrs,
    operands: Operands,
    *,
    describe: Callable[..., MatmulCall | None],
    plan: Callable[[MatmulCall], Planned | None],
) -> Lowered:
    call = describe(attrs, *operands)
    planned = None if call is None else plan(call)
    if call is None or planned is None:
        return None
    function, constants = planned
    numbers = [as_const(array) for array in constants]
    spec = call.spec
    name, operands = f"{SORTED_LAST}matmul", [*operands[:2], *numbers]
    return call_tir(builder, name, function, operands, spec.out_shape, spec.output.dtype)


_WAYS: tuple[tuple[Any, Callable[..., Planned | None]], ...] = (
    *((isa, _on_x86) for isa in ISAS),
    *((isa, _on_arm) for isa in (DOTPROD, NEON, ARMV7)),
)


def _rows(isa: Any, way: Callable[..., Planned | None]) -> list[Row]:
    plan = partial(way, isa=isa)
    product: Any = partial(_rule, describe=matmul_call, plan=plan)
    if way is _on_x86 and isa.has_byte_products:
        product = OpenRule(product)
    dense = partial(_rule, describe=dense_call, plan=plan)
    return [
        (quantized_matmul, isa.features, product),
        (quantized_dense, isa.features, dense),
    ]


ROWS: list[Row] = [row for isa, way in _WAYS for row in _rows(isa, way)]
