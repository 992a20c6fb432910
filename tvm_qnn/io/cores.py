"""Chooses the processors that a thread may run on, and sets variables of the environment."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keeping_cores() -> Iterator[None]:
    """Restore the cores that this thread may run on, if the block changes them."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        yield
    finally:
        if os.sched_getaffinity(0) != before:
            os.sched_setaffinity(0, before)


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Keep this thread, and the threads and processes that it starts, on a number of cores.

    If the system cannot bind a thread to a core (macOS, Windows), this does nothing.
    """
    with keeping_cores():
        if sys.platform == "linux":
            os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:count]))
        yield


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment during the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
