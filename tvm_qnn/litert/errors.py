"""The errors of LiteRT's calls: each is a ``QnnError`` and an error of LiteRT's class.

LiteRT raises mostly ValueErrors, and a ``QnnError`` is one.
"""

from qnn_ops.errors import QnnError


class CallError(QnnError, RuntimeError):
    """A call does not fit the interpreter's state, or a model cannot run."""


class ArgumentError(QnnError, TypeError):
    """An argument has another type."""
