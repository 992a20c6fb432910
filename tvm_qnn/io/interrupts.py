"""Ctrl-C that is not lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Run a block that Ctrl-C ends, even where Python drops the interrupt.

    A ``KeyboardInterrupt`` that is raised while an object is finalized, or in the callback of a
    weak reference, is only printed, and what runs goes on. Here it is noted as well, and raised
    again by the function that the block gets, and at its end. In other threads than the main one,
    and where the program handles the signal in its own way, nothing changes.

    Yields:
        A function to call between steps.
    """
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    check()
