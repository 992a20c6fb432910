"""Errors of what is called in one line, and tests of rows."""

from collections.abc import Callable
from typing import Any

import pytest

from qnn_ops.errors import QnnError


def fails(
    message: str,
    call: Callable[..., Any],
    *arguments: Any,
    error: type[Exception] | tuple[type[Exception], ...] = QnnError,
    **options: Any,
) -> None:
    """Call a function; its error must have this text."""
    with pytest.raises(error, match=message):
        call(*arguments, **options)


def failing(
    call: Callable[..., Any],
    *rows: Any,
    match: str = "{}",
    error: type[Exception] | tuple[type[Exception], ...] = QnnError,
) -> Callable[..., None]:
    """Return a test of a call; each row has its arguments and the error's text.

    The text's place in `match` is {}.
    """

    @pytest.mark.parametrize("row", rows)
    def test(row: Any) -> None:
        *arguments, message = row
        fails(match.format(message), call, *arguments, error=error)

    return test


def giving(call: Callable[..., Any], *rows: Any) -> Callable[..., None]:
    """Return a test of a call; each row has its arguments and its result."""

    @pytest.mark.parametrize("row", rows)
    def test(row: Any) -> None:
        *arguments, expected = row
        found = call(*arguments)
        assert found == expected, f"got {found!r}"

    return test
