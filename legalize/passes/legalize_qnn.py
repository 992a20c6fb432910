"""Lower every operator of the dialect into integer Relax operators."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, module_pass
from legalize.primitives import PRIMITIVES
from qnn_ops.errors import QnnError
from qnn_ops.registry import Operator


@mutator
class _Lower(CallRewriter):
    def rewrite(
        self, operator: Operator[Any], original: relax.Call, call: relax.Call
    ) -> relax.Expr:
        rule = PRIMITIVES.get(operator.op.name)
        if rule is None:
            raise QnnError(f"{operator.name}: no rule lowers this operator")
        return rule(self.builder_, call)


def LegalizeQnn() -> tvm.transform.Pass:
    """Replace each operator of the dialect by its rule in ``legalize.primitives``.

    The result holds Relax operators only and computes the same integers on any target.
    """
    return module_pass(_Lower, "LegalizeQnn")
