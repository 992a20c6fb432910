"""Let float32 products be rounded before something is added to them."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.qdq.group import MOVEMENTS, operator_name
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.registry import spec_of

_SUMS = {"relax.add", "relax.subtract"}
_PASSED = {*MOVEMENTS, "relax.astype", "relax.negative"}
"""The operators whose results a compiler still sees as products."""


def round_products(mod: tvm.IRModule) -> tvm.IRModule:
    """Keep compilers from fusing a product and a sum of two operators with one rounding.

    ONNX Runtime computes operator by operator.
    """
    rounder = _Rounder(mod)
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            rounder.enter(function)
            rounder.builder_.update_func(variable, rounder.visit_expr(function))
    return rounder.builder_.finalize()


@mutator
class _Rounder(PyExprMutator):
    def enter(self, function: relax.Function) -> None:
        """Find the products that are added to something, perhaps after being moved or negated."""
        added: set[Any] = set()
        self.products: set[Any] = set()
        for block in reversed(function.body.blocks):
            for binding in reversed(block.bindings):
                name = operator_name(binding.value)
                if name in _SUMS or (name in _PASSED and binding.var in added):
                    added |= {each for each in binding.value.args if isinstance(each, relax.Var)}
                elif name == "relax.multiply" and binding.var in added:
                    self.products.add(binding.value)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Round a product."""
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        if call not in self.products or spec_of(rebuilt).dtype != "float32":
            return rebuilt
        return self.builder_.normalize(rounded(self.builder_.emit(rebuilt)))
