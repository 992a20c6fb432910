"""Keeps LLVM from unrolling loops: some more instructions an iteration, and far less flash.

Innermost loops of products are left to LLVM. Kernels have unrolled the loops that are worth it.
"""

from collections.abc import Callable
from typing import Any

import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm.target.codegen import llvm_lookup_intrinsic_id
from tvm_ffi import structural_map, structural_walk

from legalize.kernels.isa.mcu import NUMBER

_EXTENT = "tvm_qnn_extent"
_TURN = "tvm_qnn_turn"

# LLVM knows no result of inline assembly, and on Cortex-M unrolls no loop that has some.
_IR = f"""
define i32 @{_EXTENT}(i32 %value) {{
  %same = call range(i32 1, -2147483648) i32 asm sideeffect "", "=r,0"(i32 %value)
  ret i32 %same
}}
define void @{_TURN}() {{
  call void asm sideeffect "", ""()
  ret void
}}
"""

_SHORT = 8  # iterations of a loop of products that LLVM may unroll

_PRODUCTS = ("llvm.arm.smlad", "llvm.arm.smlabb", "llvm.arm.smlatt")


def rolled(function: tirx.PrimFunc, *, has_loops: bool) -> tirx.PrimFunc:
    """Return a function whose loops LLVM keeps.

    Args:
        function: a lowered function.
        has_loops: whether the core has instructions for loops. LLVM uses them in loops without
            inline assembly, and does not unroll these if their number of iterations is unknown.
            A loop without vectors still gets some: LLVM would make vectors, and long code.
    """

    def roll(loop: tirx.For) -> tirx.For:
        extent = loop.extent
        if isinstance(extent, tvm.ir.Call) and extent.op.name == "tirx.call_pure_extern":
            name, value = extent.args
            extent = value if name.value == NUMBER and isinstance(value, tirx.IntImm) else extent
        if isinstance(extent, tirx.IntImm):
            few = _SHORT if not _has(loop.body, tirx.For) and _has_products(loop.body) else 1
            if not few < int(extent.value) < 2**31:
                return loop
            turns = tirx.call_extern("int32", _EXTENT, tirx.IntImm("int32", int(extent.value)))
            extent = turns if str(extent.ty.dtype) == "int32" else tirx.Cast(extent.ty.dtype, turns)
        turn = tirx.Evaluate(tirx.call_extern("void", _TURN))
        is_left = has_loops and _has(loop.body, tirx.Ramp)
        body = loop.body if is_left else tirx.SeqStmt([turn, loop.body])
        return tirx.For(loop.loop_var, loop.min, extent, loop.kind, body)

    body = structural_map(function.body, [(tirx.For, roll)])
    body = tirx.AttrStmt("default", "pragma_import_llvm", tvm.ir.StringImm(_IR), body)
    return tirx.PrimFunc(function.params, body, None, function.attrs)


def _has_products(body: Any) -> bool:
    return _has(body, tvm.ir.Call, _adds) or _has(body, tirx.Mul, _multiplies)


def _has(body: Any, kind: type, is_one: Callable[[Any], bool] = lambda _: True) -> bool:
    found = False

    def find(node: Any) -> None:
        nonlocal found
        found = found or is_one(node)

    structural_walk(body, (kind, find))
    return found


def _adds(call: tvm.ir.Call) -> bool:
    """Tell whether a call is an instruction that adds products to a sum."""
    if call.op.name != "tirx.call_llvm_pure_intrin":
        return False
    return int(call.args[0].value) in {llvm_lookup_intrinsic_id(name) for name in _PRODUCTS}


def _multiplies(product: tirx.Mul) -> bool:
    """Tell whether an int32 product is one of data, and not of indices."""
    return str(product.ty.dtype) == "int32" and all(map(_is_loaded, (product.a, product.b)))


def _is_loaded(value: Any) -> bool:
    while isinstance(value, tirx.Cast):
        value = value.value
    return isinstance(value, TensorLoad)
