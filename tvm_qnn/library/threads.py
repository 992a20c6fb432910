"""The number of threads of TVM's parallel loops.

TVM keeps a pool of threads for each Python thread that starts parallel loops. It makes the pool
when it is first needed, and its size stays; how many of its threads are used can be changed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.library import runtime
from tvm_qnn.target.processor import processors

# Far more than processors have; a system that has no room for more ends the process.
MOST_THREADS = 1024

# TVM's names for these: workers may run on any of the processors given, or on the fast ones.
_SHARE_ALL, _BIG = -3, 1

_NEVER = -1
"""In place of a count that calls were made ready for."""

_local = threading.local()
_environment = threading.Lock()


class _Forked:
    """The state of a forked process, which lacks the pool of the thread that forked.

    That pool's workers are gone, and whoever waits for them waits forever. So what this thread
    runs, another one runs for it, with a pool of its own.
    """

    thread: int | None = None
    helper: ThreadPoolExecutor | None = None

    @classmethod
    def happened(cls) -> None:
        """Take note, in the new process."""
        if cls.thread is not None or getattr(_local, "has_run", False):
            cls.thread = threading.get_ident()
            cls.helper = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forked.happened)


def call_in_threads(count: int | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of TVM's, with so many threads for the parallel loops in it.

    Args:
        count: as for ``use_threads``.
        function: one that starts parallel loops.
        *arguments: of the function.

    Raises:
        QnnError: as ``use_threads``.
    """
    if _Forked.thread is None and getattr(_local, "ready", _NEVER) == count:
        return function(*arguments)  # as most calls, for which all this takes long
    if _Forked.thread == threading.get_ident():
        if _Forked.helper is None:
            _Forked.helper = ThreadPoolExecutor(1, "tvm-qnn")
        return _Forked.helper.submit(_call, count, function, arguments).result()
    return _call(count, function, arguments)


def _call(count: int | None, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    _local.has_run = True
    use_threads(count)
    _local.ready = count
    return function(*arguments)


def check_num_threads(count: int | None) -> int | None:
    """Return the number of threads if it is one.

    Raises:
        QnnError: if it is not an integer from 1 to ``MOST_THREADS``.
    """
    if count is None:
        return None
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= MOST_THREADS:
        return count
    raise QnnError(
        f"num_threads must be None or an integer from 1 to {MOST_THREADS}, got {count!r}"
    )


def use_threads(count: int | None) -> None:
    """Set how many threads share the parallel loops that this Python thread starts.

    They run on the processors that this thread may use, and are not bound to single ones.

    Args:
        count: the calling thread is one of them. None: as many as the environment's TVM_NUM_THREADS
            or OMP_NUM_THREADS says, else half of the processors that this thread may use.

    Raises:
        QnnError: if other code has made a smaller pool in this thread before.
    """
    if getattr(_local, "count", _NEVER) == count:
        return
    _local.ready = _NEVER
    configure = runtime.function("runtime.config_threadpool")
    with _unbound(), keeping_processors():
        if not hasattr(_local, "count"):
            # This makes the pool, which kernels that ask for the number of threads make else.
            _use(configure, max(count or 1, os.cpu_count() or 1))
        if count is None:
            configure(_BIG, _default())
        else:
            _use(configure, count)
    _local.count = count
    if count is not None and (used := runtime.function("runtime.NumThreads")()) < count:
        _local.count = used
        raise QnnError(
            f"num_threads={count} is more than the {used} of the pool that TVM made in this "
            "thread before: run the library with the most threads first, or set TVM_NUM_THREADS"
        )


def _use(configure: Callable[..., Any], count: int) -> None:
    # The processors count, and are not looked at: nothing is bound to them.
    configure(_SHARE_ALL, count, ["0"] * count)


def _default() -> int:
    for name in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        if (value := os.environ.get(name, "")).isdecimal():
            return max(int(value), 1)
    return max(processors() // 2, 1)


@contextmanager
def keeping_processors() -> Iterator[None]:
    """Give this thread back the processors that it may use, should TVM change them meanwhile."""
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
def _unbound() -> Iterator[None]:
    """Keep TVM from binding threads, this one too, to processors."""
    name = "TVM_BIND_THREADS"
    with _environment:
        before = os.environ.get(name)
        os.environ[name] = "0"
        try:
            yield
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
