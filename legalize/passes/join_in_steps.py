"""Join many tensors in steps."""

from __future__ import annotations

import tvm
from tvm import relax, topi
from tvm.relax.expr_functor import mutator

from legalize.kernels.call import KEPT_APART
from legalize.passes.rewriter import CallRewriter, module_pass

_MOST = 64
"""The most tensors that one function joins: TVM nests a condition for each of them."""

_JOINS = {"relax.concat": topi.concatenate, "relax.stack": topi.stack}


@mutator
class _JoinInSteps(CallRewriter):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Rewrite the operands, then the call."""
        rebuilt = self.visit_expr_post_order(call)
        join = _JOINS.get(getattr(rebuilt.op, "name", ""))
        inputs = rebuilt.args[0] if join else None
        if not isinstance(inputs, relax.Tuple) or len(inputs.fields) <= _MOST:
            return rebuilt
        axis = int(rebuilt.attrs.axis or 0)
        parts = list(inputs.fields)
        while len(parts) > 1:
            shares = [parts[first : first + _MOST] for first in range(0, len(parts), _MOST)]
            parts = [
                self.builder_.emit_te(join, share, axis, primfunc_attrs=KEPT_APART)
                for share in shares
            ]
            join = topi.concatenate
        return parts[0]


def JoinInSteps() -> tvm.transform.Pass:
    """Turn joins of many tensors (``concat``, ``stack``) into functions that join some of them.

    For one function of hundreds of tensors, LLVM takes minutes or crashes. The functions are not
    fused with each other, because that would give the one function again. The pass runs before
    operators become functions.
    """
    return module_pass(_JoinInSteps, "JoinInSteps")
