"""A terminal on which text is shown as it is."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from tvm_qnn.io.text import visible


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
