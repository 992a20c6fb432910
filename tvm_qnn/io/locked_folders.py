"""Folders with a lock that ends with its process, for systems that lock folders."""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

assert sys.platform != "win32"  # Windows has claimed_folders.py instead

PREFIX, SUFFIX = ".tvm-qnn-", ".part"


@contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder that ``sweep`` in any process leaves alone."""
    inside, lock = _locked(folder)
    try:
        yield inside
    finally:
        os.close(lock)


def sweep(folder: Path) -> None:
    """Remove the folders that killed processes left: those without a lock."""
    with suppress(OSError):
        for name in os.listdir(folder):  # takes a fifth of the time of Path.glob
            if not (name.startswith(PREFIX) and name.endswith(SUFFIX)):
                continue
            stale = folder / name
            with suppress(OSError):
                lock = os.open(stale, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(stale, ignore_errors=True)
                finally:
                    os.close(lock)


def _locked(folder: Path) -> tuple[Path, int]:
    """Return a new folder and its lock; the system unlocks it when this process ends."""
    while True:
        inside = Path(tempfile.mkdtemp(SUFFIX, PREFIX, folder))
        with suppress(FileNotFoundError):  # if another process swept it before it was locked
            lock = os.open(inside, os.O_RDONLY)
            with suppress(OSError):  # on a file system without locks; nobody sweeps there
                fcntl.flock(lock, fcntl.LOCK_EX)
            if inside.is_dir():
                return inside, lock
            os.close(lock)
