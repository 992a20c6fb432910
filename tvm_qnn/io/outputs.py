"""Files that are written: beside their place first, and moved there when they are whole."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qnn_ops.errors import QnnError

_PREFIX, _SUFFIX = ".tvm-qnn-", ".part"

_DEVICES = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write a file to; moved to ``path`` at the end, removed on an error.

    It has the same name, in a folder of its own, which may hold what else is needed until then.
    Devices and pipes are not replaced: they get what was written.

    Raises:
        QnnError: for what goes wrong with files, or a QnnError of the block: it names ``path``.
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
    """Yield an empty folder, whose files and folders are moved to ``folder`` at the end.

    Raises:
        QnnError: as ``replacing``.
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
    """Write a file of text in one step.

    Raises:
        QnnError: if it cannot be written.
    """
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def scratch(folder: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, removed at the end, as are those that killed processes left.

    Args:
        folder: the place where it is made; None: the system's for temporary files.
    """
    folder = folder or Path(tempfile.gettempdir())
    _sweep(folder)
    inside, lock = _locked(folder)
    try:
        yield inside
    finally:
        shutil.rmtree(inside, ignore_errors=True)
        os.close(lock)


def _locked(folder: Path) -> tuple[Path, int]:
    """Return a new folder and its lock, which the system opens when this process ends."""
    while True:
        inside = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX, folder))
        with suppress(FileNotFoundError):  # swept by another process before it was locked
            lock = os.open(inside, os.O_RDONLY)
            with suppress(OSError):  # a file system without locks, where nobody sweeps
                fcntl.flock(lock, fcntl.LOCK_EX)
            if inside.is_dir():
                return inside, lock
            os.close(lock)


def _sweep(folder: Path) -> None:
    """Remove what processes left that were killed: the folders that nobody locks."""
    with suppress(OSError):
        for stale in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            with suppress(OSError):
                lock = os.open(stale, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(stale, ignore_errors=True)
                finally:
                    os.close(lock)


def _move(part: Path, path: Path) -> None:
    """Move in one step, even if the power fails: what a link points to is replaced."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(part, path.resolve() if path.is_symlink() else path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn errors of the block into one that names the file that was to be written."""
    try:
        yield
    except OSError as error:
        raise QnnError(f"cannot write {path}: {error.strerror or error}") from error
    except QnnError as error:
        cause = error.__cause__
        reason = cause.strerror if isinstance(cause, OSError) else None
        raise QnnError(f"cannot write {path}: {reason or error}") from error
