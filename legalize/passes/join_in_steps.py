"""Join many tensors in steps."""

import tvm
from tvm import relax, topi

from legalize.kernels.call import KEPT_APART
from legalize.passes.rewriter import CallRewriter, call_pass

_MOST = 64
"""The most tensors that one function joins: TVM nests a condition for each of them."""

_JOINS = {"relax.concat": topi.concatenate, "relax.stack": topi.stack}


def JoinInSteps() -> tvm.transform.Pass:
    """Turn joins of many tensors (``concat``, ``stack``) into functions that join some of them.

    For one function of hundreds of tensors, LLVM takes minutes or crashes. The functions are not
    fused with each other, because that would give the one function again. The pass runs before
    operators become functions.
    """
    return call_pass(dict.fromkeys(_JOINS, _joined), "JoinInSteps")


def _joined(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr | None:
    join, inputs = _JOINS[call.op.name], call.args[0]
    if not isinstance(inputs, relax.Tuple) or len(inputs.fields) <= _MOST:
        return None
    axis, parts = int(call.attrs.axis or 0), list(inputs.fields)
    while len(parts) > 1:
        shares = [parts[first : first + _MOST] for first in range(0, len(parts), _MOST)]
        parts = [
            writer.builder_.emit_te(join, share, axis, primfunc_attrs=KEPT_APART)
            for share in shares
        ]
        join = topi.concatenate
    return parts[0]
