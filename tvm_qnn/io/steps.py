"""The steps of a build, for programs that show its progress.

The logger "tvm_qnn.steps" logs each at level INFO, which no program shows by default. To see them,
call ``logging.basicConfig(level=logging.INFO)``.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOGGER = logging.getLogger("tvm_qnn.steps")


def step(text: str) -> None:
    """Report the step that begins now."""
    _LOGGER.info("%s", text)


def compile_step(count: int) -> None:
    """Report that the compilation of this many functions begins now."""
    step(f"compile {count} function{'s' if count != 1 else ''}")


@contextmanager
def heard(hear: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the text of each step during the block."""
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
