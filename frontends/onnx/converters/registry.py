"""The table of this importer's own rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax

from qnn_ops.dialect.expressions import Expression
from qnn_ops.modules import Rules

Operands = Sequence["relax.Expr | None"]


@dataclass(frozen=True)
class Call:
    """An operator to convert to Relax expressions.

    Attributes:
        op: its name.
        builder: of the function.
        given: the operands; None for an operand that is left out.
        attributes: by name.
    """

    op: str
    builder: relax.BlockBuilder
    given: Operands
    attributes: dict[str, Any]

    @property
    def emit(self) -> Callable[[relax.Expr], relax.Expr]:
        """The function that binds an expression to a variable."""
        emit: Callable[[relax.Expr], relax.Expr] = self.builder.emit
        return emit

    def operands(self, count: int) -> list[Any]:
        """Return ``count`` operands; None for each one that is missing."""
        return [*self.given, *[None] * count][:count]

    def arrays(self, count: int) -> list[Any]:
        """Return ``count`` operands, which behave like numpy arrays."""
        found = self.operands(count)
        return [each if each is None else Expression(self.builder, each) for each in found]


Converter = Callable[[Call], Any]
"""``rule(call)`` gives a result, of Relax or of ``Call.arrays``; a tuple if there are several."""

CONVERTERS = Rules[str, Converter]()
"""By the name of the operator."""

converter = CONVERTERS.of
