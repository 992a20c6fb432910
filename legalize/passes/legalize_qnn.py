"""Lower every operator of the dialect to integer Relax operators."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, module_pass
from legalize.primitives import PRIMITIVES
from legalize.qdq.group import operator_name
from qnn_ops.dialect.registry import Operator, constant_of, spec_of
from qnn_ops.errors import QnnError

_DIVISIONS = {f"relax.{name}" for name in ("divide", "floor_divide", "floor_mod", "mod")}


@mutator
class _Lower(CallRewriter):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Lower a call; a division by the number 0 becomes a division by a tensor of zeros.

        TVM writes a scalar constant into the division, and refuses a division by 0.
        """
        result = super().visit_call_(call)
        if operator_name(result) not in _DIVISIONS:
            return result
        divisor = constant_of(result.args[1])
        if divisor is None or divisor.ndim or divisor.item() != 0:
            return result
        call, dtype = self.builder_.normalize(result), str(divisor.dtype)
        if divisor.dtype.kind != "f":
            raise QnnError(f"{operator_name(call)}: integers are divided by the constant 0")
        zero = self.builder_.emit(relax.const(divisor.reshape(1), dtype))
        found = self.builder_.emit(relax.Call(call.op, [call.args[0], zero], call.attrs))
        return R.reshape(found, spec_of(call).shape)

    def rewrite(
        self, operator: Operator[Any], original: relax.Call, call: relax.Call
    ) -> relax.Expr:
        rule = PRIMITIVES.get(operator.op.name)
        if rule is None:
            raise QnnError(f"{operator.name}: no rule lowers this operator")
        return rule(self.builder_, call)


def LegalizeQnn() -> tvm.transform.Pass:
    """Replace each operator of the dialect by its rule in ``legalize.primitives``.

    The result contains only Relax operators and computes the same integers on any target.
    """
    return module_pass(_Lower, "LegalizeQnn")
