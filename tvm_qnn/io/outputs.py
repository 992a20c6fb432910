"""Writes files in another folder first, and moves them to their place when they are complete."""

import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qnn_ops.errors import QnnError

if sys.platform == "win32":
    from tvm_qnn.io.claimed_folders import own_folder, sweep
else:
    from tvm_qnn.io.locked_folders import own_folder, sweep

_DEVICES = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write a file to. It is moved to ``path`` at the end, removed on an error.

    It has the same name, in a new folder, which may hold other temporary files, too. Devices and
    pipes are not replaced: the file's contents are written to them.

    Raises:
        QnnError: for errors of files, or a QnnError of the block; the message names ``path``.
    """
    is_device = path.parent in _DEVICES or path.is_fifo() or path.is_char_device()
    with _naming(path), scratch(None if is_device else path.parent) as inside:
        part = inside / path.name
        yield part
        if is_device:
            with path.open("wb") as device, part.open("rb") as file:
                shutil.copyfileobj(file, device)
        else:
            _move(part, path)


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Yield an empty folder; at the end its files and folders are moved to ``folder``.

    Raises:
        QnnError: as ``replacing`` raises it.
    """
    with _naming(folder), scratch(folder) as inside:
        yield inside
        for part in sorted(inside.rglob("*")):
            place = folder / part.relative_to(inside)
            if part.is_dir():
                place.mkdir(exist_ok=True)
            else:
                _move(part, place)


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step.

    Raises:
        QnnError: if it cannot be written.
    """
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def scratch(folder: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, which is removed at the end.

    The first call for a parent folder also removes those of killed processes from it.

    Args:
        folder: its parent folder; None: the system's folder for temporary files.
    """
    folder = folder or Path(tempfile.gettempdir())
    _sweep_once(folder)
    with own_folder(folder) as inside:
        try:
            yield inside
        finally:
            shutil.rmtree(inside, ignore_errors=True)


@functools.cache
def _sweep_once(folder: Path) -> None:
    sweep(folder)


def _move(part: Path, path: Path) -> None:
    """Move in one step, even if the power fails; a link stays, and its target is replaced."""
    with part.open("r+b") as file:  # for writing: Windows flushes no other file
        os.fsync(file.fileno())
    os.replace(part, path.resolve() if path.is_symlink() else path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn errors of the block into one error that names the file."""
    try:
        yield
    except OSError as error:
        raise QnnError(f"cannot write {path}: {error.strerror or error}") from error
    except QnnError as error:
        cause = error.__cause__
        reason = cause.strerror if isinstance(cause, OSError) else None
        raise QnnError(f"cannot write {path}: {reason or error}") from error
