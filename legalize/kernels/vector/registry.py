"""The rules that make kernels for the vectors of any instruction set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from tvm import relax

from legalize.kernels.registry import kernel
from legalize.kernels.vector.isa import VectorIsa
from qnn_ops.registry import Attrs, Operator


class VectorRule(Protocol):
    """A rule as ``legalize.kernels.registry.kernel`` takes it, for any instruction set."""

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


def vector_kernel(operator: Operator[Any]) -> Callable[[VectorRule], VectorRule]:
    """Note a rule down for every instruction set that is registered later."""

    def decorate(rule: VectorRule) -> VectorRule:
        _RULES.append((operator, rule))
        return rule

    return decorate


def register_vectors(isa: VectorIsa) -> None:
    """Make the rules kernels of an instruction set, after those that were registered before."""
    for operator, rule in _RULES:
        kernel(operator, *isa.features)(partial(rule, isa=isa))
