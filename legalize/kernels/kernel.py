"""A kernel: a rule, and the features that a target must have for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import tvm
from tvm import relax

from legalize.kernels.ir.vectors import Index, Vector
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.targets import has_features
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of, operator_of, type_spec
from qnn_ops.dialect.sizes import is_open

Builder: TypeAlias = relax.BlockBuilder
Operands: TypeAlias = Sequence[relax.Expr]
Lowered: TypeAlias = "relax.Expr | None"
"""A call as kernels; None if they cannot take its shape or attributes."""

Rule = Callable[[Builder, Attrs, Operands], Lowered]
Row = tuple[Operator[Any], tuple[str, ...], Rule]
"""An operator, features, and the rule for targets that have all of them."""


@dataclass(frozen=True)
class OpenRule:
    """A rule whose kernel also takes tensors of open sizes."""

    rule: Rule

    def __call__(self, builder: Builder, attrs: Attrs, operands: Operands) -> Lowered:
        """Return the call as kernels; None if they cannot take its shape or attributes."""
        return self.rule(builder, attrs, operands)


IS_KERNEL = "qnn.is_kernel"
"""The attribute of functions whose loops are final: no pass may change them."""

HAS_PLAIN_LOOPS = "qnn.has_plain_loops"
"""The attribute of such functions that contain loops of TVM, which LLVM turns into vectors."""

WRITES_OVER = "qnn.writes_over"
"""The attribute of functions whose output, the last argument, may overlay an input of its size.

Its value is the index of that input. The function reads each element of it once, before it writes
the output's element at the same index.
"""

SAME_CODE = "qnn.same_code"
"""The attribute of functions of tensors of any shapes: variables stand for their sizes.

The code reads none of the variables. A function that does not read its sizes from a table has them
only for its output. The attribute's value is a digest of the code.
"""

CALLS_BY_NAME = "qnn.calls_by_name"
"""The attribute of modules whose kernels will probably be called by name.

Then kernels of equal code are one function.
"""

IS_SMALL = "qnn.is_small"
"""The attribute of such modules, and of their kernels, whose model has few calls of little work.

Their kernels are for one size each, and have LLVM's usual level. With shared code and level 1, such
a model takes up to 3 % more time.
"""

_Rule = TypeVar("_Rule")


@dataclass(frozen=True)
class Kernel:
    """One way to compute an operator on one instruction set."""

    features: tuple[str, ...]
    rule: Rule

    def serves(self, target: tvm.target.Target) -> bool:
        """Tell whether the target has every feature that the kernel uses."""
        return has_features(target, self.features)

    def lower(self, builder: Builder, call: relax.Call) -> Lowered:
        """Return the call as kernels; None if they cannot take its shape or attributes."""
        if not isinstance(self.rule, OpenRule) and has_open_size(call):
            return None
        return self.rule(builder, attrs_of(call), list(call.args))


class VectorRule(Protocol):
    """A rule for the vectors of any instruction set."""

    def __call__(
        self, builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa
    ) -> Lowered:
        """Return the call as kernels; None if they cannot take its shape or attributes."""


@dataclass(frozen=True)
class Slice:
    """The channels of a larger tensor that an output is written to.

    Attributes:
        whole: channels of a pixel of the larger tensor.
        first: the first channel that is written.
    """

    whole: int
    first: int


@dataclass(frozen=True)
class Fusions(Generic[_Rule]):
    """Rules of kernels that compute several operators. Passes ask them before other rules.

    A rule returns None, and emits nothing, if its kernel cannot serve the request.

    Attributes:
        rows: rules by operator and features, the best first.
        takes_open: whether the rules take open sizes.
    """

    rows: Sequence[tuple[Operator[Any], tuple[str, ...], _Rule]]
    takes_open: bool = False

    def serving(self, target: tvm.target.Target) -> Callable[[Index], list[_Rule]]:
        """Return a function that lists the rules for an expression on ``target``, the best first.

        It lists none for None, or for an expression that is no call of a registered operator.
        """
        found: dict[str, list[_Rule]] = {}
        for operator, features, rule in self.rows:
            if has_features(target, features):
                found.setdefault(operator.op.name, []).append(rule)

        def rules_for(value: Vector) -> list[_Rule]:
            operator = operator_of(value)
            if operator is None or (has_open_size(value) and not self.takes_open):
                return []
            return found.get(operator.op.name, [])

        return rules_for


def has_open_size(call: relax.Call) -> bool:
    """Tell whether a size of the result of a call, or of an operand, is open."""
    types = [call.ty, *(arg.ty for arg in call.args)]
    tensors = [each for ty in types for each in getattr(ty, "fields", [ty])]
    return any(
        isinstance(ty, relax.TensorType)
        and isinstance(ty.shape, relax.ShapeExpr)
        and is_open(type_spec(ty, "an operand").shape)
        for ty in tensors
    )
