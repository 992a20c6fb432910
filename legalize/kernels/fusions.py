"""The tables of kernels that compute more than one operator: what passes ask before the others.

A rule gets what the table's entry says, and returns None, with nothing emitted, where its kernel
does not do that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import tvm
from tvm import relax

from legalize.kernels.conv2d.spec import Slice
from legalize.kernels.isa.targets import has_feature
from qnn_ops.registry import Operator, operator_of

_Rule = TypeVar("_Rule")
_Result = relax.Expr | None


@dataclass(frozen=True)
class Fusions(Generic[_Rule]):
    """Rules by the name of an operator in TVM, in the order of registration."""

    entries: dict[str, list[tuple[tuple[str, ...], _Rule]]] = field(default_factory=dict)

    def register(self, operator: Operator[Any], *features: str) -> Callable[[_Rule], _Rule]:
        """Register a rule for targets that have all ``features``."""

        def decorate(rule: _Rule) -> _Rule:
            self.entries.setdefault(operator.op.name, []).append((features, rule))
            return rule

        return decorate

    def serving(self, target: tvm.target.Target) -> Callable[[Any], list[_Rule]]:
        """A function that gives the rules for an expression on ``target``, the best first.

        There are none for None, and for what is no call of a registered operator.
        """
        found = {
            name: [
                rule
                for features, rule in rules
                if all(has_feature(target, feature) for feature in features)
            ]
            for name, rules in self.entries.items()
        }

        def rules_for(value: Any) -> list[_Rule]:
            operator = operator_of(value)
            return [] if operator is None else found.get(operator.op.name, [])

        return rules_for


SUMS: Fusions[Callable[[relax.BlockBuilder, relax.Call, relax.Call, relax.Expr], _Result]] = (
    Fusions()
)
"""``rule(builder, sum, producer, other)``: a sum, and what makes one of its operands.

``sum`` is a call of ``quantized_add`` or ``quantized_subtract``, ``producer`` the call of the
registered operator that makes one of its operands, and ``other`` the other operand.
"""

PARTS: Fusions[Callable[[relax.BlockBuilder, relax.Call, Slice, _Result], _Result]] = Fusions()
"""``rule(builder, call, part, into)``: a result that is the channels ``part`` of a larger tensor.

The rule returns the larger tensor: ``into``, or a new one where that is None.
"""

BORDERS: Fusions[Callable[[relax.BlockBuilder, relax.Call, relax.Call], _Result]] = Fusions()
"""``rule(builder, call, reader)``: a result with the padding of the convolution that reads it.

None, too, where that does not spare the reader a copy.
"""
