"""Text made fit to be shown: on a terminal, in a notebook, as JSON."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from rich.console import Console
from rich.text import Text


def to_json(value: Any, indent: int | None = None) -> str:
    """Write plain Python values as JSON; floats that are no finite numbers as null.

    JSON has no NaN and no infinity; those that Python would write only Python reads.
    """
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in HTML.

    Args:
        title: above it, text.
        heads: of the columns.
        rows: what their cells say.
    """
    lines = [_row("th", heads), *(_row("td", row) for row in rows)]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"


# Controls (ANSI sequences among them), marks that turn writing around, halves of characters, ends
# of lines and paragraphs.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))

# Joiners, which several scripts and many emoji need.
_JOINERS = frozenset("\u200c\u200d")


def visible(text: str, kept: str = "") -> str:
    r"""Write what cannot be seen, or acts on a terminal, as Python does: ``\x1b``.

    Args:
        text: any.
        kept: characters that stay as they are.
    """
    return "".join(
        char if char in kept or not _is_hidden(char) else char.encode("unicode_escape").decode()
        for char in text
    )


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN and char not in _JOINERS


class Terminal(Console):
    """A console to which no text is a command: neither markup nor emoji codes nor controls.

    What is to be bold or coloured is made by ``styled``.
    """

    def __init__(self, **options: Any) -> None:
        """Write to the standard output, or where the options of ``rich.console.Console`` say."""
        super().__init__(**options, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a printed string, one in a table as well, as rich takes it."""
        plain = {"emoji": False, "markup": False, "highlight": False}
        return super().render_str(visible(text), **{**options, **plain})


def styled(text: str, style: str = "bold") -> Text:
    """Style a text that is to be shown as it is."""
    return Text(visible(text), style)
