"""Makes text fit to show: without hidden characters, as HTML for a notebook, as JSON."""

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def to_json(value: Any, indent: int | None = None) -> str:
    """Write plain Python values as JSON; floats that are not finite become null.

    JSON has no NaN and no infinity, and only Python reads those that Python writes.
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
        title: a text above the table.
        heads: the heads of the columns.
        rows: the values in the cells.
    """
    from html import escape  # few processes write a page

    def row_of(tag: str, cells: Sequence[object]) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    lines = [row_of("th", heads), *(row_of("td", row) for row in rows)]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


# Control characters (with ANSI sequences), marks that change the direction of writing, halves of
# characters, ends of lines and paragraphs.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))

# Joiners: several scripts and many emoji need them.
_JOINERS = frozenset("\u200c\u200d")


def visible(text: str, kept: str = "") -> str:
    r"""Replace characters that are invisible or control a terminal by Python's escapes: ``\x1b``.

    Args:
        text: any text.
        kept: characters that stay as they are.
    """
    shown = _JOINERS.union(kept)
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in shown and unicodedata.category(char) in _HIDDEN
        else char
        for char in text
    )
