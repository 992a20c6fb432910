"""The best classes of an answer, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from tvm_qnn.io.classes import Guess
from tvm_qnn.io.terminal import Terminal


def print_guesses(console: Terminal, guesses: Sequence[Guess]) -> None:
    """Print the best classes of an answer."""
    named = any(guess.label for guess in guesses)
    table = Table("class", *["name"] * named, title=f"Top {len(guesses)}", title_justify="left")
    table.add_column("score", justify="right")
    for guess in guesses:
        table.add_row(str(guess.index), *[guess.label] * named, f"{guess.score:.4g}")
    console.print(table)
