"""Folders with a file beside each that vanishes with its process; Windows has such files."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX, SUFFIX, CLAIM = ".tvm-qnn-", ".part", ".claim"

# Windows removes such a file when its process closes it or ends in any way.
_CLAIM_FLAGS = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_TEMPORARY", 0)


@contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder that ``sweep`` in any process leaves alone."""
    inside = folder / f"{PREFIX}{uuid.uuid4().hex}{SUFFIX}"
    # The claim comes first: a folder of a living process always has one.
    claim = os.open(inside.with_suffix(CLAIM), _CLAIM_FLAGS, 0o600)
    try:
        inside.mkdir(0o700)
        yield inside
    finally:
        os.close(claim)
        inside.with_suffix(CLAIM).unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove the folders that killed processes left: those without a claim."""
    with suppress(OSError):
        for stale in folder.glob(f"{PREFIX}*{SUFFIX}"):
            if not stale.is_symlink() and not stale.with_suffix(CLAIM).exists():
                shutil.rmtree(stale, ignore_errors=True)
