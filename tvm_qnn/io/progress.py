"""Shows the progress of the program on the terminal."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from tvm_qnn.io.steps import heard
from tvm_qnn.io.terminal import styled
from tvm_qnn.io.text import visible

PATIENCE = 2.0
"""The seconds after which a task prints its steps if the output is not a terminal."""


@contextmanager
def timed(console: Console, text: str) -> Iterator[None]:
    """Show that a task runs and, at its end, how long it took.

    If the console is not a terminal, it only gets the time at the end. If the task lasts longer
    than ``PATIENCE``, it also gets a line for each step, even if the console is quiet.
    """
    start = time.perf_counter()
    with (_spinner if console.is_terminal else _lines)(console, text):
        yield
    seconds = styled(f"{time.perf_counter() - start:.1f} s", "dim")
    console.print("  ", styled("✓", "green"), " ", styled(text, ""), "  ", seconds, sep="")


@contextmanager
def counted(console: Console, text: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show how many items are done, the items per second, and the remaining time.

    Yields:
        A function to call after each item.
    """
    what = bars.TextColumn("  {task.description}", markup=False)
    columns = (
        what,
        bars.BarColumn(20),
        bars.MofNCompleteColumn(),
        _Rate(),
        bars.TimeRemainingColumn(),
    )
    hidden = not console.is_terminal
    with bars.Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(visible(text), total=total, completed=done)
        yield lambda: progress.advance(task)


class _Rate(bars.ProgressColumn):
    """Items per second."""

    def render(self, task: bars.Task) -> Text:
        """Return the rate as text, empty until it is known."""
        return Text("" if task.speed is None else f"{task.speed:,.1f}/s", "dim")


@contextmanager
def native_code_is_quiet() -> Iterator[None]:
    """Drop what native code, such as LiteRT's, writes to the error stream during the block."""
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
    spinner = bars.SpinnerColumn("line" if console.options.ascii_only else "dots")
    what = bars.TextColumn("{task.description}", markup=False)
    columns = (bars.TextColumn(" "), spinner, what, bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(visible(text), total=None)
        with heard(lambda step: progress.update(task, description=visible(f"{text}: {step}"))):
            yield


@contextmanager
def _lines(console: Console, text: str) -> Iterator[None]:
    """Once the task has lasted for long, print its present step and all later ones."""
    now, is_long, lock = text, False, threading.Lock()

    def show() -> None:
        print(f"  {visible(now)}", file=console.file, flush=True)

    def become_long() -> None:
        nonlocal is_long
        with lock:
            is_long = True
            show()

    def hear(step: str) -> None:
        nonlocal now
        with lock:
            now = f"{text}: {step}"
            if is_long:
                show()

    timer = threading.Timer(PATIENCE, become_long)
    timer.daemon = True
    timer.start()
    try:
        with heard(hear):
            yield
    finally:
        timer.cancel()
        timer.join()
