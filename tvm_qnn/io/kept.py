"""Folders of files that are kept for the user, as long as there is room.

Nothing in them is needed: what is not found, or cannot be kept, is made anew.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path

VARIABLE = "TVM_QNN_CACHE"
"""The environment's variable: "0" for no cache at all, or the folder to use."""

DIGEST_SIZE = 24
"""Bytes of the digests that name entries."""

_KEY = re.compile(f"[0-9a-f]{{{2 * DIGEST_SIZE}}}")


def cache_folder() -> Path | None:
    """Return the user's folder for entries; None if the environment wants no cache."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen == "0":
        return None
    if chosen not in ("", "1"):
        return Path(chosen)
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    if sys.platform != "darwin" and os.path.isabs(base):
        return Path(base) / "tvm-qnn"
    try:
        home = Path.home()
    except RuntimeError:  # the environment names none, and the system does not know this user
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "tvm-qnn"


def stranger_of(folder: Path) -> str | None:
    """Say who else may write to a folder, or move it away; None if only this user and root may.

    Entries are code, so an entry that somebody else has written must not run. A folder that does
    not exist yet is as safe as its nearest parent.
    """
    if sys.platform == "win32":
        return None  # the user's own folders are closed to others there
    place = folder.resolve()
    for depth, each in enumerate((place, *place.parents)):
        try:
            status = each.stat()
        except OSError:
            continue
        sticky = status.st_mode & stat.S_ISVTX and depth  # others cannot move what is inside
        if status.st_uid not in (0, os.getuid()):
            return f"{each} belongs to another user"
        open_to = stat.S_IWOTH if depth else stat.S_IWOTH | stat.S_IWGRP
        if status.st_mode & open_to and not sticky:
            return f"{each} can be written to by others"
    return None


class Kept:
    """Files in a folder, named by the digests of what they were made from."""

    def __init__(self, folder: Path, limit: int, suffix: str) -> None:
        """Use a folder; it is made when something is stored.

        Args:
            folder: of the entries.
            limit: bytes that they may take together.
            suffix: of their names.
        """
        self.folder = folder
        self._limit = limit
        self._suffix = suffix

    @functools.cached_property
    def is_safe(self) -> bool:
        """Whether nobody else may write there; there is a warning if somebody may."""
        if reason := stranger_of(self.folder):
            warnings.warn(f"the cache is not used: {reason}", stacklevel=2)
        return reason is None

    def path(self, key: str) -> Path:
        """Return the place of an entry."""
        return self.folder / f"{key}{self._suffix}"

    def make_folder(self) -> None:
        """Make the folder, for this user only.

        Raises:
            OSError: if it cannot be made.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def make_room(self, *newest: Path) -> None:
        """Remove the entries that were not used longest, but these, until all are in the limit."""
        entries = []
        for path in filter(self._is_entry, self.folder.iterdir()):
            with suppress(OSError):  # another process has removed it
                status = path.stat()
                entries.append((status.st_mtime_ns, path, status.st_size))
        total = sum(size for _, _, size in entries)
        for _, path, size in sorted(entries):
            if total <= self._limit:
                break
            if path not in newest:
                self.remove(path)
                total -= size

    def remove(self, path: Path) -> None:
        """Remove an entry, if it is there and can be removed."""
        with suppress(OSError):
            path.unlink(missing_ok=True)

    def _is_entry(self, path: Path) -> bool:
        """Tell whether a key gives this name; the folder may hold the user's own files, too."""
        return path.suffix == self._suffix and bool(_KEY.fullmatch(path.stem))
