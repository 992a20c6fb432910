"""The common parts of reports: tables on the terminal and in Markdown, figures as JSON."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.machine import Setting
from tvm_qnn.io.text import to_json

Array = np.ndarray[Any, Any]

_WIDE = 160  # columns, where output is no terminal


def terminal() -> Console:
    """Make the console of a report; a file gets wide tables whole."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    return console


def as_table(head: Sequence[str], body: Sequence[Sequence[str]], title: str) -> Table:
    """Make a table for the terminal."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(head):
        table.add_column(column, justify="right" if index else "left", no_wrap=index > 0)
    for row in body:
        table.add_row(*row)
    return table


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Make a table in Markdown."""
    rule = ["---", *(["---:"] * (len(head) - 1))]
    rows = ([cell.replace("|", "\\|") for cell in row] for row in [head, rule, *body])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def markdown(setting_lines: Sequence[str], *parts: str) -> str:
    """Join the parts of a page in Markdown, below the lines about the setting."""
    return "\n\n".join(["\n".join(f"{line}  " for line in setting_lines), *parts])


def as_json(setting: Setting, **fields: object) -> str:
    """Return all figures and the setting as JSON."""
    return to_json({"setting": setting.to_json(), **fields}, indent=1) + "\n"


def largest_difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float | None:
    """Return the largest difference of two programs' outputs; None if their shapes differ."""
    if [array.shape for array in ours] != [array.shape for array in theirs]:
        return None
    return max(
        (
            float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0.0))
            for a, b in zip(ours, theirs, strict=True)
        ),
        default=0.0,
    )


def difference_text(difference: float | None) -> str:
    """Return the text of a largest difference for a table."""
    return "other shapes" if difference is None else f"{difference:g}"
