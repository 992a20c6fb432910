"""Typed access to an operator's attributes, which MXNet's files hold as text."""

import ast
import math
from collections.abc import Mapping, Sequence

from qnn_ops.errors import QnnError

_TRUE = ("true", "1")
_FALSE = ("false", "0")


class Attributes:
    """Typed access to attributes in every spelling: C++ writes 'true', Python 'True', 2.x '1'.

    An attribute that is missing or 'None' has the default. Each method raises ``QnnError``, with
    the attribute's name and text, if it cannot read the text, or if the attribute is missing and
    has no default.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Read these texts, by name of the attribute."""
        self._texts = texts

    def has(self, name: str) -> bool:
        """Tell whether the attribute is there, and not 'None'."""
        return self._texts.get(name, "None") != "None"

    def text(self, name: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """Return the text itself, one of the choices if there are any."""
        value = self._text(name) if self.has(name) or default is None else default
        if choices and value not in choices:
            raise QnnError(f"attribute {name} must be one of {', '.join(choices)}, got {value!r}")
        return value

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Return a truth value."""
        if default is not None and not self.has(name):
            return default
        text = self._text(name)
        if text.lower() not in (*_TRUE, *_FALSE):
            raise self._error(name, "true or false")
        return text.lower() in _TRUE

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number; MXNet writes some of them as '1.0'."""
        if default is not None and not self.has(name):
            return default
        value = self.real(name)
        if value != int(value):
            raise self._error(name, "a whole number")
        return int(value)

    def real(self, name: str, default: float | None = None) -> float:
        """Return a finite number, in float64 as Python reads it."""
        if default is not None and not self.has(name):
            return default
        try:
            value = float(self._text(name))
        except ValueError:
            raise self._error(name, "a number") from None
        if not math.isfinite(value):
            raise self._error(name, "a finite number")
        return value

    def integers(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return a list of whole numbers: '(3, 3)', '[3,3]', '()' or '3' for a single one."""
        if default is not None and not self.has(name):
            return tuple(default)
        values = self.optional_integers(name)
        if None in values:
            raise self._error(name, "whole numbers")
        return tuple(value for value in values if value is not None)

    def optional_integers(self, name: str) -> tuple[int | None, ...]:
        """Return a list whose items may be 'None', such as the ends of slices."""
        try:
            # Python 2 wrote long numbers with a trailing L.
            value = ast.literal_eval(self._text(name).replace("L", ""))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            raise self._error(name, "whole numbers") from None
        values = value if isinstance(value, (tuple, list)) else (value,)
        if not all(item is None or type(item) is int for item in values):
            raise self._error(name, "whole numbers")
        return tuple(values)

    def _text(self, name: str) -> str:
        if name not in self._texts:
            raise QnnError(f"attribute {name} is missing")
        return self._texts[name]

    def _error(self, name: str, wanted: str) -> QnnError:
        return QnnError(f"attribute {name} must be {wanted}, got {self._text(name)!r}")
