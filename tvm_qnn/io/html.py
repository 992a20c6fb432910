"""Objects as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


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
