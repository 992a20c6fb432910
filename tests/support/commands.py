"""Commands that are called in this process."""

from collections.abc import Sequence
from typing import Any

from click.testing import CliRunner


def said(command: Any, words: Sequence[str] = (), **options: Any) -> str:
    """Call a command, which must succeed, and return what it writes to its output."""
    result = CliRunner().invoke(command, words, **options)
    assert result.exit_code == 0, f"{result.output}{result.exception or ''}"
    return result.stdout


def refused(command: Any, words: Sequence[str] = (), code: int = 1, **options: Any) -> str:
    """Call a command, which must end with an error, and return what it writes of it."""
    result = CliRunner().invoke(command, words, **options)
    assert result.exit_code == code, f"{result.output}{result.exception or ''}"
    return result.stderr
