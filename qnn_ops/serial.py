"""Functions that only one thread runs at a time."""

import gc
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_In = ParamSpec("_In")
_Out = TypeVar("_Out")

# The lock is reentrant, because such functions call each other.
_LOCK = threading.RLock()


def serial(function: Callable[_In, _Out]) -> Callable[_In, _Out]:
    """Decorate a function: only one thread at a time runs it, or another function of this kind.

    A process has one TVM builder of functions and one tag of operators, without a lock. Threads
    that import or compile models at the same time would take each other's.

    Meanwhile Python looks for no circles of references, in any thread: it would visit all objects
    again and again.
    """

    @wraps(function)
    def call(*args: _In.args, **kwargs: _In.kwargs) -> _Out:
        with _LOCK:
            collects = gc.isenabled()
            try:
                gc.disable()
                return function(*args, **kwargs)
            finally:
                if collects:
                    gc.enable()

    return call
