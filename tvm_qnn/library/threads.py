"""Sets the number of threads of TVM's parallel loops.

TVM has a pool of threads for each Python thread that starts parallel loops. It makes the pool at
the first use. The pool's size then stays; the number of threads that are used can be changed.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.io.cores import environment, keeping_cores
from tvm_qnn.library import runtime
from tvm_qnn.target.processor import processors

# Far more than processors have; a system without room for more ends the process.
MOST_THREADS = 1024

# TVM's names for: workers may run on any of the given processors, or only on the fast ones.
_SHARE_ALL, _BIG = -3, 1

_NEVER = -1
"""Stands for: calls are not ready for any count."""

_local = threading.local()
_environment = threading.Lock()


class _Forked:
    """The state of a forked process, which lacks the pool of the thread that forked.

    The pool's workers are gone, and a wait for them would never end. So another thread, with a pool
    of its own, runs everything for this thread.
    """

    thread: int | None = None
    helper: ThreadPoolExecutor | None = None

    @classmethod
    def happened(cls) -> None:
        """Note in the new process that it was forked."""
        if cls.thread is not None or getattr(_local, "has_run", False):
            cls.thread = threading.get_ident()
            cls.helper = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forked.happened)


def call_in_threads(count: int | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call one of TVM's functions with a number of threads for its parallel loops.

    Args:
        count: as for ``use_threads``.
        function: a function that starts parallel loops.
        *arguments: the function's arguments.

    Raises:
        QnnError: as ``use_threads``.
    """
    if _Forked.thread is None and getattr(_local, "ready", _NEVER) == count:
        return function(*arguments)  # the usual case, kept short: the rest takes long
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
    """Return a number of threads after checking it.

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
        count: the number, including the calling thread. None: TVM_NUM_THREADS or OMP_NUM_THREADS
            of the environment, otherwise half of the processors that this thread may use.

    Raises:
        QnnError: if other code has made a smaller pool in this thread before.
    """
    if getattr(_local, "count", _NEVER) == count:
        return
    _local.ready = _NEVER
    configure = runtime.function("runtime.config_threadpool")
    # TVM must not bind threads, including this one, to processors.
    with _environment, environment("TVM_BIND_THREADS", "0"), keeping_cores():
        if not hasattr(_local, "count"):
            # This makes the pool; otherwise a kernel that asks for the number of threads would.
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
    # Only the number of processors counts: nothing is bound to them.
    configure(_SHARE_ALL, count, ["0"] * count)


def _default() -> int:
    for name in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        if (value := os.environ.get(name, "")).isdecimal():
            return max(int(value), 1)
    return max(processors() // 2, 1)
