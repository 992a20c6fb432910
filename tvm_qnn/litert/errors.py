"""Errors that are both the project's and of the class that LiteRT raises in the same case.

A ``QnnError`` is a ValueError, as most of LiteRT's are.
"""

from __future__ import annotations

from qnn_ops.errors import QnnError


class CallError(QnnError, RuntimeError):
    """A call that does not fit the interpreter's state, or a model that cannot run."""


class ArgumentError(QnnError, TypeError):
    """An argument of another type."""
