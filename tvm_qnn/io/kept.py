"""Caches: folders of files that are kept for the user as long as there is room.

No program depends on them: whatever is missing, or cannot be kept, is made again.
"""

import functools
import os
import re
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path

VARIABLE = "TVM_QNN_CACHE"
"""The environment's variable for it: "0" turns all caches off; a path names the folder."""

DIGEST_SIZE = 24
"""The bytes of the digests that name entries."""

_KEY = re.compile(f"[0-9a-f]{{{2 * DIGEST_SIZE}}}")


def cache_folder() -> Path | None:
    """Return the user's folder for entries; None if the environment turns caches off."""
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
    except RuntimeError:  # neither the environment nor the system has a home folder
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "tvm-qnn"


def stranger_of(folder: Path) -> str | None:
    """Say who else may write to a folder or move it away; None if only this user and root may.

    Entries are code, so an entry that another user wrote must not run. A folder that does not exist
    yet is as safe as its nearest parent.
    """
    if sys.platform == "win32":
        return None  # there other users cannot write to this user's folders
    place = folder.resolve()
    for depth, each in enumerate((place, *place.parents)):
        try:
            status = each.stat()
        except OSError:
            continue
        sticky = status.st_mode & stat.S_ISVTX and depth  # other users cannot move its contents
        if status.st_uid not in (0, os.getuid()):
            return f"{each} belongs to another user"
        open_to = stat.S_IWOTH if depth else stat.S_IWOTH | stat.S_IWGRP
        if status.st_mode & open_to and not sticky:
            return f"{each} can be written to by others"
    return None


class Kept:
    """Files in a folder, named by digests of their sources.

    Attributes:
        limit: the most bytes of all files together. Beyond it the least recently used ones are
            removed.
        suffix: the ending of their names.
    """

    limit: int
    suffix: str

    def __init__(self, folder: Path) -> None:
        """Use a folder; it is made when the first file is stored."""
        self.folder = folder

    @functools.cached_property
    def is_safe(self) -> bool:
        """Whether no other user may write there; if one may, this warns."""
        if reason := stranger_of(self.folder):
            warnings.warn(f"the cache is not used: {reason}", stacklevel=2)
        return reason is None

    def path(self, key: str) -> Path:
        """Return the path of an entry."""
        return self.folder / f"{key}{self.suffix}"

    def make_folder(self) -> None:
        """Make the folder, with access for this user only.

        Raises:
            OSError: if it cannot be made.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def make_room(self, *newest: Path) -> None:
        """Remove the least recently used entries, except these, until all are within the limit."""
        entries = []
        for path in filter(self._is_entry, self.folder.iterdir()):
            with suppress(OSError):  # if another process has removed it
                status = path.stat()
                entries.append((status.st_mtime_ns, path, status.st_size))
        total = sum(size for _, _, size in entries)
        for _, path, size in sorted(entries):
            if total <= self.limit:
                break
            if path not in newest:
                self.remove(path)
                total -= size

    def remove(self, path: Path) -> None:
        """Remove an entry, if it is there and can be removed."""
        with suppress(OSError):
            path.unlink(missing_ok=True)

    def _is_entry(self, path: Path) -> bool:
        """Tell whether an entry may have this name: the folder may hold the user's own files."""
        return path.suffix == self.suffix and bool(_KEY.fullmatch(path.stem))
