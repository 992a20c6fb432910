"""The table of this importer's own rules, and the call that a rule converts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.onnx.read.names import onnx_package, whole
from qnn_ops import dequantize
from qnn_ops.dialect.expressions import Expression
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of
from qnn_ops.modules import Rules

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Call:
    """An operator to convert to Relax expressions.

    Attributes:
        op: its name.
        builder: of the function.
        given: the operands; None for an operand that is left out.
        attributes: by name.
        outputs: the names of the results; empty for a result that is left out.
        opset: the version of the standard's operators.
        values: of the operands, numbers and perhaps open sizes; None for what is not known.
    """

    op: str
    builder: relax.BlockBuilder
    given: Sequence[relax.Expr | None]
    attributes: dict[str, Any]
    outputs: Sequence[str]
    opset: int
    values: Sequence[Array | None]

    @property
    def emit(self) -> Callable[[relax.Expr], relax.Expr]:
        """The function that binds an expression to a variable."""
        emit: Callable[[relax.Expr], relax.Expr] = self.builder.emit
        return emit

    def operands(self, count: int) -> list[Any]:
        """Return ``count`` operands; None for each one that is missing."""
        return [*self.given, *[None] * count][:count]

    def constant(self, index: int, name: str) -> Array:
        """Return the value of an operand, whose role is ``name``; it must be a constant."""
        if (value := constant_of(self.operands(index + 1)[index])) is None:
            raise UnsupportedError(f"{name} must be constant")
        return value

    def number(self, index: int, name: str, default: int | None = None) -> int:
        """Return the integer of a constant operand.

        Args:
            index: of the operand.
            name: the operand's role, for the error.
            default: if the operand may be left out.

        Raises:
            UnsupportedError: it is no constant, or has several numbers.
        """
        expr = self.operands(index + 1)[index]
        if expr is None and default is not None:
            return default
        known = constant_of(expr)
        if known is None or known.size != 1:
            raise UnsupportedError(f"{name} must be one constant number")
        return int(known.item())

    def array(self, expr: relax.Expr) -> Any:
        """Return an expression that behaves like a numpy array."""
        return Expression(self.builder, expr)

    def integer(self, name: str, default: int = 0) -> int:
        """Return an attribute that is a whole number, or a truth value of 0 or 1."""
        return whole(self.attributes.get(name, default), name)

    def integers(self, name: str, default: Iterable[int] = ()) -> list[int]:
        """Return an attribute that is a list of whole numbers."""
        return [whole(each, name) for each in self.attributes.get(name, default)]

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute that is a text."""
        return text_of(self.attributes.get(name, default))

    def dtype(self, name: str) -> str:
        """Return the dtype that an attribute names by its number; empty if it is missing or 0."""
        kind = self.integer(name)
        return str(onnx_package().helper.tensor_dtype_to_np_dtype(kind).name) if kind else ""

    def axis(self, rank: int, default: int) -> int:
        """Return the attribute "axis", counted from the first axis."""
        return self.integer("axis", default) % rank

    def is_dequantized(self, expr: relax.Expr) -> bool:
        """Tell whether an operand is the result of a DequantizeLinear."""
        return operator_of(self._value(expr)) is dequantize

    def known(self, expr: relax.Expr) -> Array | None:
        """Return the value of a constant or of a dequantized constant; otherwise None."""
        if not self.is_dequantized(expr):
            return constant_of(expr)
        call: Any = self._value(expr)
        integers = constant_of(call.args[0])
        return None if integers is None else np.asarray(dequantize.apply(attrs_of(call), integers))

    def _value(self, expr: relax.Expr) -> relax.Expr | None:
        """Return the value of a variable, None for an input; other expressions as they are."""
        return self.builder.lookup_binding(expr) if isinstance(expr, relax.Var) else expr


def text_of(value: Any) -> str:
    """Return an attribute's text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


Converter = Callable[[Call], Any]
"""``rule(call)`` gives a result, of Relax or like a numpy array; a tuple if there are several."""

CONVERTERS = Rules[str, Converter]()
"""By the name of the operator."""

_Rule = Callable[..., Any]
"""``rule(call, *operands)``: as many operands as it names; None for each one that is missing."""


def converter(*names: str, table: Rules[str, Converter] = CONVERTERS) -> Callable[[_Rule], _Rule]:
    """Enter the rule of some operators into a table; its operands are Relax expressions."""
    return lambda rule: _entered(table, names, rule, Call.operands)


def formula(*names: str, dtype: str = "") -> Callable[[_Rule], _Rule]:
    """Enter the rule of some operators; its operands behave like numpy arrays.

    If a dtype is given, the first operand must have it.
    """

    def arrays(call: Call, count: int) -> list[Any]:
        found = call.operands(count)
        found = [None if each is None else call.array(each) for each in found]
        if dtype and found[0].dtype != dtype:
            raise UnsupportedError(f"its data must be {dtype}")
        return found

    return lambda rule: _entered(CONVERTERS, names, rule, arrays)


def _entered(
    table: Rules[str, Converter],
    names: Iterable[str],
    rule: _Rule,
    operands: Callable[[Call, int], list[Any]],
) -> _Rule:
    """Enter a rule into a table, and return it."""
    count = len(signature(rule).parameters) - 1
    table.update(dict.fromkeys(names, lambda call: rule(call, *operands(call, count))))
    return rule
