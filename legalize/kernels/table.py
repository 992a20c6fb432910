"""The table from a dialect operator to the kernels that can serve it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from legalize.kernels.isa.targets import has_feature
from qnn_ops.registry import Attrs, Operator, attrs_of

Rule = Callable[[relax.BlockBuilder, Attrs, Sequence[relax.Expr]], "relax.Expr | None"]

IS_KERNEL = "qnn.is_kernel"
"""The attribute of functions that are written to the last loop: no pass is to improve them."""


@dataclass(frozen=True)
class Kernel:
    """One way to compute an operator on one instruction set."""

    features: tuple[str, ...]
    rule: Rule

    def serves(self, target: tvm.target.Target) -> bool:
        """Whether the target has every feature that the kernel uses."""
        return all(has_feature(target, feature) for feature in self.features)

    def lower(self, builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr | None:
        """The call as kernels, or None where this one cannot take its shape or attributes."""
        return self.rule(builder, attrs_of(call), list(call.args))


KERNELS: dict[str, list[Kernel]] = {}
"""By the operator's name in TVM, in the order of registration: the first that serves is used."""


def kernel(operator: Operator[Any], *features: str) -> Callable[[Rule], Rule]:
    """Register ``rule(builder, attrs, operands)`` for targets that have all ``features``."""

    def decorate(rule: Rule) -> Rule:
        KERNELS.setdefault(operator.op.name, []).append(Kernel(features, rule))
        return rule

    return decorate
