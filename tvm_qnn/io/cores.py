"""The processors that a thread may run on, where the system lets a program choose them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Keep this thread, and the threads and processes that it starts, on so many cores.

    Where the system cannot bind a thread to a core (macOS, Windows), nothing is done.
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
