"""Keeps Ctrl-C from getting lost."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Run a block that Ctrl-C ends, even if Python drops the interrupt.

    If a ``KeyboardInterrupt`` is raised while an object is finalized, or in the callback of a weak
    reference, Python only prints it, and the program goes on. Here it is also noted. The function
    that the block gets raises it again, and so does the end of the block. Nothing changes in other
    threads than the main one, and in programs that handle the signal in their own way.

    Yields:
        A function to call between two steps.
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
