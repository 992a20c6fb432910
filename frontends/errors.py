"""Errors of the model importers."""

import re
from collections.abc import Sequence

from qnn_ops.errors import QnnError

# How TVM writes the name of an operator.
_OPERATOR = re.compile(r'ir\.Op\(span=.*?name="([^"]*)".*?support_level=\d+\)')


class ModelFormatError(QnnError):
    """A model file is malformed; the message names what was being read and what is wrong."""


class UnsupportedError(QnnError):
    """A rule cannot convert an operator; importers collect these errors.

    The text is the reason alone: the importer knows the operator.
    """


class UnsupportedOperatorError(QnnError):
    """A model uses operators that have no conversion; the message lists all of them.

    Args:
        operators: one `(index, code, reason, tensor names)` for each operator,
            for instance `(3, "SVDF", "no conversion rule", ["state", "weights"])`.

    Attributes:
        operators: the same, as a tuple.
    """

    def __init__(self, operators: Sequence[tuple[int, str, str, Sequence[str]]]) -> None:
        self.operators = tuple(operators)
        count = len(self.operators)
        lines = [f"{count} operator{'' if count == 1 else 's'} cannot be imported:"]
        for index, code, reason, names in self.operators:
            tensors = ", ".join(repr(name) for name in names) or "none"
            lines.append(f"  operator {index} {code}: {reason} (tensors: {tensors})")
        super().__init__("\n".join(lines))


def reason_of(error: Exception) -> str:
    """Shorten an error to one line: TVM's own end with the sentence that says what is wrong."""
    if isinstance(error, QnnError):
        return str(error)
    text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return _OPERATOR.sub(r"\1", text)
