"""A terminal that shows texts unchanged, and prints a classifier's best classes."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tvm_qnn.io.classes import Guess
from tvm_qnn.io.text import visible


class Terminal(Console):
    """A console that prints texts as they are, without markup, emoji codes and control characters.

    ``styled`` makes text bold or coloured.
    """

    def __init__(self, **options: Any) -> None:
        """Write to the standard output, or as the options of ``rich.console.Console`` say."""
        super().__init__(**options, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a printed string, also one in a table, as rich's text."""
        plain = {"emoji": False, "markup": False, "highlight": False}
        return super().render_str(visible(text), **{**options, **plain})


def styled(text: str, style: str = "bold") -> Text:
    """Style a text that is shown unchanged."""
    return Text(visible(text), style)


def figures_table(
    words: Sequence[str], figures: Sequence[str], title: str | None = None, **options: Any
) -> Table:
    """Return a table with columns of words, then columns of figures; it has no rows yet."""
    table = Table(*words, title=title, title_justify="left", **options)
    for column in figures:
        table.add_column(column, justify="right")
    return table


def print_guesses(console: Terminal, guesses: Sequence[Guess]) -> None:
    """Print the best classes of an answer."""
    named = any(guess.label for guess in guesses)
    table = figures_table(["class", *["name"] * named], ["score"], f"Top {len(guesses)}")
    for guess in guesses:
        table.add_row(str(guess.index), *[guess.label] * named, f"{guess.score:.4g}")
    console.print(table)
