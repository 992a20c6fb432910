"""The table from a dialect operator to its rule in Relax primitives."""

from collections.abc import Callable
from typing import Any, TypeAlias

import tvm
from tvm import relax

from qnn_ops.dialect.registry import Operator, attrs_of

Builder: TypeAlias = relax.BlockBuilder
Rule = Callable[..., relax.Expr]

PRIMITIVES: dict[str, Callable[[Builder, relax.Call], relax.Expr]] = {}
"""Rules by the operator's name in TVM: (builder, call) -> an equal expression without it."""


def primitive(operator: Operator[Any]) -> Callable[[Rule], Rule]:
    """Register ``rule(builder, attrs, *operands)`` as the operator's lowering.

    The rule gets normalised operands and returns an expression of Relax operators. It emits an
    expression through the builder if it uses it more than once, so that it is computed once. The
    rule is also the operator's FLegalize, so TVM's own LegalizeOps can lower the operator, too.
    """

    def decorate(rule: Rule) -> Rule:
        def lower(builder: Builder, call: relax.Call) -> relax.Expr:
            return builder.normalize(rule(builder, attrs_of(call), *call.args))

        PRIMITIVES[operator.op.name] = lower
        tvm.ir.register_op_attr(operator.op.name, "FLegalize", lower)
        return rule

    return decorate
