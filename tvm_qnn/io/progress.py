"""The progress of the program, on the terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from tvm_qnn.io.terminal import styled
from tvm_qnn.io.text import visible


@contextmanager
def timed(console: Console, text: str) -> Iterator[None]:
    """Show that something is under way, and when it is done, how long it took.

    Where the console is no terminal, only the latter is printed.
    """
    start = time.perf_counter()
    with _spinner(console, text) if console.is_terminal else nullcontext():
        yield
    seconds = styled(f"{time.perf_counter() - start:.1f} s", "dim")
    console.print("  ", styled("✓", "green"), " ", styled(text, ""), "  ", seconds, sep="")


@contextmanager
def counted(console: Console, text: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show how many of so many things are done, how many a second, and the time that is left.

    Yields:
        A function to call for each of them.
    """
    what = TextColumn("  {task.description}", markup=False)
    columns = (what, BarColumn(20), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(visible(text), total=total, completed=done)
        yield lambda: progress.advance(task)


class _Rate(ProgressColumn):
    """Things done in a second."""

    def render(self, task: Task) -> Text:
        """Return it as text, empty until it is known."""
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s", "dim")


@contextmanager
def native_code_is_quiet() -> Iterator[None]:
    """Drop what native code writes to the process's error stream meanwhile: LiteRT's notes."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _spinner(console: Console, text: str) -> Iterator[None]:
    spinner = SpinnerColumn("line" if console.options.ascii_only else "dots")
    what = TextColumn("{task.description}", markup=False)
    columns = (TextColumn(" "), spinner, what, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(visible(text), total=None)
        yield
