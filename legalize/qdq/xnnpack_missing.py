"""What XNNPACK computes in integers, and nothing here does: float32 would give other integers."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.group import Group, NoRuleError, rule
from qnn_ops.xnnpack import XNNPACK

MISSING = ("nn.elu", "subtract")


@rule(*MISSING, arithmetics=[XNNPACK])
def _missing(_group: Group, _call: relax.Call) -> relax.Expr:
    raise NoRuleError("is not among the operators here")
