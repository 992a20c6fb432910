"""Lower every operator of the dialect to integer Relax operators."""

import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.rewriter import CallRewriter, call_pass
from legalize.primitives import PRIMITIVES
from qnn_ops.dialect.registry import OPERATORS, as_const, constant_of, spec_of
from qnn_ops.errors import QnnError

_DIVISIONS = {f"relax.{name}" for name in ("divide", "floor_divide", "floor_mod", "mod")}


def LegalizeQnn() -> tvm.transform.Pass:
    """Replace each operator of the dialect by its rule in ``legalize.primitives``.

    The result contains only Relax operators and computes the same integers on any target.
    """
    rules = {**dict.fromkeys(OPERATORS, _lowered), **dict.fromkeys(_DIVISIONS, _divided)}
    return call_pass(rules, "LegalizeQnn")


def _lowered(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr:
    rule = PRIMITIVES.get(call.op.name)
    if rule is None:
        raise QnnError(f"{call.op.name}: no rule lowers this operator")
    return rule(writer.builder_, call)


def _divided(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr | None:
    """Turn a division by the number 0 into a division by a tensor of zeros.

    TVM writes a scalar constant into the division, and refuses a division by 0.
    """
    divisor = constant_of(call.args[1])
    if divisor is None or divisor.ndim or divisor.item() != 0:
        return None
    if divisor.dtype.kind != "f":
        raise QnnError(f"{call.op.name}: integers are divided by the constant 0")
    zero = writer.builder_.emit(as_const(divisor.reshape(1)))
    found = writer.builder_.emit(relax.Call(call.op, [call.args[0], zero], call.attrs))
    return R.reshape(found, spec_of(call).shape)
