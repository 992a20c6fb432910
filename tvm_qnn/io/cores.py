"""Chooses the processors that a thread may run on, if the system allows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Keep this thread, and the threads and processes that it starts, on a number of cores.

    If the system cannot bind a thread to a core (macOS, Windows), this does nothing.
    """
    if sys.platform != "linux":
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(cores)[:count]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
