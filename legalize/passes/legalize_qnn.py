"""Lower every operator of the dialect into integer Relax operators."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.primitives import PRIMITIVES
from qnn_ops.errors import QnnError
from qnn_ops.registry import operator_of


@mutator
class _Lower(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        if (operator := operator_of(call)) is None:
            return call
        rule = PRIMITIVES.get(call.op.name)
        if rule is None:
            raise QnnError(f"{operator.name}: no rule lowers this operator")
        return rule(self.builder_, self.builder_.normalize(call))


def LegalizeQnn() -> tvm.transform.Pass:
    """Replace each operator of the dialect by its rule in ``legalize.primitives``.

    The result holds Relax operators only and computes the same integers on any target.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        lower = _Lower(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                lower.builder_.update_func(variable, lower.visit_expr(function))
        return lower.builder_.finalize()

    return tvm.transform.module_pass(rewrite, opt_level=0, name="LegalizeQnn")
