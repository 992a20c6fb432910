"""Functions that one thread calls at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_In = ParamSpec("_In")
_Out = TypeVar("_Out")

# Such functions call each other.
_LOCK = threading.RLock()


def serial(function: Callable[_In, _Out]) -> Callable[_In, _Out]:
    """Let other threads wait until a function, and each other one of this kind, has returned.

    TVM has one builder of functions and one tag of operators for the process, with no lock: models
    that were imported or compiled in several threads took each other's.
    """

    @wraps(function)
    def call(*args: _In.args, **kwargs: _In.kwargs) -> _Out:
        with _LOCK:
            return function(*args, **kwargs)

    return call
