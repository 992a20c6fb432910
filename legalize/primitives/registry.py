"""The table from a dialect operator to its rule in Relax primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

from qnn_ops.dialect.registry import Operator, attrs_of

Rule = Callable[..., relax.Expr]

PRIMITIVES: dict[str, Callable[[relax.BlockBuilder, relax.Call], relax.Expr]] = {}
"""By the operator's name in TVM: (builder, call) -> an equal expression without the operator."""


def primitive(operator: Operator[Any]) -> Callable[[Rule], Rule]:
    """Register ``rule(builder, attrs, *operands)`` as the operator's lowering.

    The rule gets normalised operands and returns an expression over Relax operators. What it
    uses more than once it emits through the builder, so that it is computed once. The rule is
    also the operator's FLegalize, so TVM's own LegalizeOps lowers it as well.
    """

    def decorate(rule: Rule) -> Rule:
        def lower(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
            return builder.normalize(rule(builder, attrs_of(call), *call.args))

        PRIMITIVES[operator.op.name] = lower
        tvm.ir.register_op_attr(operator.op.name, "FLegalize", lower)
        return rule

    return decorate
