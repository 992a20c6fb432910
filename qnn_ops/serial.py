"""Functions that only one thread runs at a time, and Python's search for circles of references."""

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

_In = ParamSpec("_In")
_Out = TypeVar("_Out")

# The lock is reentrant, because such functions call each other.
_LOCK = threading.RLock()


@contextmanager
def uncollected() -> Iterator[None]:
    """During the block, Python looks for no circles of references, in any thread.

    Where most objects stay, as in a build or an import of TVM, it would visit all of them again and
    again.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def serial(function: Callable[_In, _Out]) -> Callable[_In, _Out]:
    """Decorate a function: only one thread at a time runs it, or another function of this kind.

    A process has one TVM builder of functions and one tag of operators, without a lock. Threads
    that import or compile models at the same time would take each other's. The function runs
    ``uncollected``.
    """

    @wraps(function)
    def call(*args: _In.args, **kwargs: _In.kwargs) -> _Out:
        with _LOCK, uncollected():
            return function(*args, **kwargs)

    return call
