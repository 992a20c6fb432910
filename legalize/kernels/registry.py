"""The table from a dialect operator to the kernels that can serve it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from legalize.kernels.spec import Slice
from legalize.kernels.targets import has_feature
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


FusedRule = Callable[[relax.BlockBuilder, relax.Call, relax.Call, relax.Expr], "relax.Expr | None"]


@dataclass(frozen=True)
class FusedSum:
    """One way to compute an operator and, in the same kernel, its sum with another tensor."""

    features: tuple[str, ...]
    rule: FusedRule

    def serves(self, target: tvm.target.Target) -> bool:
        """Whether the target has every feature that the kernel uses."""
        return all(has_feature(target, feature) for feature in self.features)


FUSED_SUMS: dict[str, list[FusedSum]] = {}
"""By the name of the operator whose result is added, in the order of registration."""


def fused_sum(operator: Operator[Any], *features: str) -> Callable[[FusedRule], FusedRule]:
    """Register ``rule(builder, sum, producer, other)`` for targets that have all ``features``.

    ``sum`` is a call of ``quantized_add`` or ``quantized_subtract``, ``producer`` the call of
    ``operator`` that makes one of its operands, and ``other`` the other operand. The rule returns
    the sum, or None where its kernel cannot take that.
    """

    def decorate(rule: FusedRule) -> FusedRule:
        FUSED_SUMS.setdefault(operator.op.name, []).append(FusedSum(features, rule))
        return rule

    return decorate


PartRule = Callable[
    [relax.BlockBuilder, relax.Call, Slice, "relax.Expr | None"], "relax.Expr | None"
]


@dataclass(frozen=True)
class PartWriter:
    """One way to compute an operator as a part of a larger tensor."""

    features: tuple[str, ...]
    rule: PartRule

    def serves(self, target: tvm.target.Target) -> bool:
        """Whether the target has every feature that the kernel uses."""
        return all(has_feature(target, feature) for feature in self.features)


PART_WRITERS: dict[str, list[PartWriter]] = {}
"""By the name of the operator, in the order of registration."""


def part_writer(operator: Operator[Any], *features: str) -> Callable[[PartRule], PartRule]:
    """Register ``rule(builder, call, part, into)`` for targets that have all ``features``.

    ``call`` is one of ``operator``, whose result is the channels ``part`` of a larger tensor:
    ``into``, or a new one where that is None. The rule returns the larger tensor, or None where
    its kernel cannot take the call; then it has emitted nothing.
    """

    def decorate(rule: PartRule) -> PartRule:
        PART_WRITERS.setdefault(operator.op.name, []).append(PartWriter(features, rule))
        return rule

    return decorate
