"""The steps of a build, for whoever asks what it is about.

Each is logged at level INFO by the logger "tvm_qnn.steps", which nobody hears by default:
``logging.basicConfig(level=logging.INFO)`` shows them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOGGER = logging.getLogger("tvm_qnn.steps")


def step(text: str) -> None:
    """Say what is done from now on, until the next step or the end."""
    _LOGGER.info("%s", text)


def compile_step(count: int) -> None:
    """Say that so many functions are compiled from now on."""
    step(f"compile {count} function{'s' if count != 1 else ''}")


@contextmanager
def heard(hear: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the text of each step meanwhile."""
    handler, level = _Handler(hear), _LOGGER.level
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOGGER.setLevel(level)
        _LOGGER.removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__()
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.getMessage())
