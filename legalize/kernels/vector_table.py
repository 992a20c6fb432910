"""The rules that make kernels for the vectors of any instruction set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import tvm
from tvm import relax

from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.targets import has_feature
from legalize.kernels.table import kernel
from qnn_ops.registry import Attrs, Operator


class VectorRule(Protocol):
    """A rule as ``legalize.kernels.table.kernel`` takes it, for any instruction set."""

    def __call__(
        self,
        builder: relax.BlockBuilder,
        attrs: Attrs,
        operands: Sequence[relax.Expr],
        *,
        isa: VectorIsa,
    ) -> relax.Expr | None:
        """The call as kernels, or None where they do not take its shape or attributes."""


_RULES: list[tuple[Operator[Any], VectorRule]] = []
_ISAS: list[VectorIsa] = []


def vector_kernel(operator: Operator[Any]) -> Callable[[VectorRule], VectorRule]:
    """Note a rule down for every instruction set that is registered later."""

    def decorate(rule: VectorRule) -> VectorRule:
        _RULES.append((operator, rule))
        return rule

    return decorate


def register_vectors(isa: VectorIsa) -> None:
    """Make the rules kernels of an instruction set, after those that were registered before."""
    _ISAS.append(isa)
    for operator, rule in _RULES:
        kernel(operator, *isa.features)(partial(rule, isa=isa))


def vectors_for(target: tvm.target.Target) -> list[VectorIsa]:
    """The registered instruction sets that a target has, the fastest first."""
    return [isa for isa in _ISAS if all(has_feature(target, feature) for feature in isa.features)]
