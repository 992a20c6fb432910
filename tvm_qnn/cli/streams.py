"""Makes the standard output and the standard error safe for any text and any destination."""

import codecs
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeVar

# The characters beyond ASCII that commands print, for terminals that only show ASCII.
_ASCII = {"×": "x", "µ": "u", "–": "-", "…": ".", "✓": "*"}

_HANDLER = "tvm-qnn-readable"

_Result = TypeVar("_Result")


class OutputError(Exception):
    """An output cannot be written, for example because a disk is full."""


class _Stream(io.TextIOWrapper):
    """A stream whose errors have a class of their own, unlike errors of other files."""

    def write(self, text: str) -> int:
        return _told(lambda: super(_Stream, self).write(text))

    def flush(self) -> None:
        _told(super().flush)


@contextmanager
def readable_streams() -> Iterator[None]:
    """Print similar characters, or numbers, in place of those that an encoding lacks.

    Raises:
        OutputError: the output cannot be written.
    """
    codecs.register_error(_HANDLER, _readable)
    with ExitStack() as stack:
        stack.enter_context(_replaced("stderr"))
        stack.enter_context(_replaced("stdout"))
        yield


@contextmanager
def _replaced(name: str) -> Iterator[None]:
    before = getattr(sys, name)
    if not isinstance(before, io.TextIOWrapper):  # a closed stream, or another program's
        yield
        return
    before.flush()
    stream = _Stream(before.buffer, before.encoding, _HANDLER, line_buffering=before.line_buffering)
    setattr(sys, name, stream)
    try:
        yield
    finally:
        setattr(sys, name, before)
        try:
            stream.flush()
        except BrokenPipeError:  # the reader stopped
            _drop(stream)
        except OutputError:
            _drop(stream)
            raise
        finally:
            stream.detach()


def _drop(stream: io.TextIOWrapper) -> None:
    """Discard what the stream still holds: Python would try to write it again at its end."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _told(function: Callable[[], _Result]) -> _Result:
    try:
        return function()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from error


def _readable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    chars = error.object[error.start : error.end]
    parts = [
        _ASCII.get(char) or char.encode("ascii", "backslashreplace").decode() for char in chars
    ]
    return "".join(parts), error.end
