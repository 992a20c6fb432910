"""``relay.Let`` and ``relay.If`` as expressions without control flow."""

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay.expr import emitted, spec, typed
from tvm_qnn.relay.op import field_of, where


def Let(variable: relax.Var, value: relax.Expr, body: relax.Expr) -> relax.Expr:
    """Return ``body`` with a value in place of a variable."""

    def made(part: relax.Expr) -> relax.Expr:
        if isinstance(part, relax.TupleGetItem):
            return field_of(part.tuple_value, part.index)
        return typed(part)

    return emitted(body, made, {variable: value})


def If(cond: relax.Expr, true_branch: relax.Expr, false_branch: relax.Expr) -> relax.Expr:
    """Return one of two tensors, both of which a run computes.

    Args:
        cond: a bool scalar.
        true_branch: the result if it is true.
        false_branch: the result if it is false.

    Raises:
        QnnError: if an argument does not fit.
    """
    of_cond = spec("If: cond", cond)
    one, other = spec("If: true_branch", true_branch), spec("If: false_branch", false_branch)
    if of_cond.shape != () or of_cond.dtype != "bool" or one != other:
        raise QnnError(f"If: needs a bool and two tensors alike, got {of_cond}, {one}, {other}")
    return where(cond, true_branch, false_branch)
