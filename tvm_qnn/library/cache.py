"""A cache of builds: the same model for the same target is compiled once.

An entry is the file of a library, named by a digest of everything that decides what is compiled:
the module, its constants, target and options, the sources of tvm-qnn, and the versions of TVM,
LLVM, Python and numpy. What is changed has another name, so nothing becomes stale; what is not
used for long makes room. Entries are checked when they are read, as all libraries are, and one
that is damaged is removed and built again. Files appear in one step, so processes can share a
cache; two that build the same at the same time both do, and either's result stays.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tvm

import legalize
import qnn_ops
from qnn_ops.errors import QnnError
from tvm_qnn.library import runtime
from tvm_qnn.library.files import FileOrigin
from tvm_qnn.library.metadata import Metadata, compiler_versions, runtime_versions
from tvm_qnn.library.origin import Origin

VARIABLE = "TVM_QNN_CACHE"
"""The environment's variable: "0" for no cache at all, or the folder to use."""

_SOURCES = [
    *(Path(package.__path__[0]) for package in (qnn_ops, legalize)),
    Path(__file__).parents[1],
]
"""The folders of what turns a module into code."""

LIMIT = 2_000_000_000
"""Bytes that the entries may take together. Then those are removed that were not used longest."""

_SUFFIX = ".so"
_DIGEST_SIZE = 24
_KEY = re.compile(f"[0-9a-f]{{{2 * _DIGEST_SIZE}}}")


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

    A library is code, so one that somebody else has put there is not to be run. A folder that is
    not there yet is its nearest parent's.
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


def build_key(
    mod: tvm.IRModule,
    params: Mapping[str, Any],
    target: tvm.target.Target,
    options: Mapping[str, Any],
) -> str:
    """Return a digest of everything that decides what a build gives.

    Args:
        mod: the module to build.
        params: its constants by parameter name.
        target: to build for.
        options: of the build, such as JSON can hold.
    """
    context = tvm.transform.PassContext.current()
    passes = [context.opt_level, context.required_pass, context.disabled_pass, context.config]
    versions = {**runtime_versions(), **compiler_versions(), "sources": _sources()}
    texts = [tvm.ir.save_json(mod), str(target), str(passes), json.dumps([options, versions])]
    digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for text in texts:
        _add(digest, text.encode())
    for name in sorted(params):
        value = params[name]
        array = value.numpy() if isinstance(value, tvm.runtime.Tensor) else np.asarray(value)
        _add(digest, f"{name} {array.dtype} {array.shape}".encode())
        _add(digest, np.ascontiguousarray(array).data)
    return digest.hexdigest()


class BuildCache:
    """Libraries in a folder, by the keys of their builds."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        """Use a folder; it is made when something is stored.

        Args:
            folder: of the entries.
            limit: bytes that they may take together.
        """
        self.folder = folder
        self._limit = limit

    def find(self, key: str) -> tuple[Metadata, Origin] | None:
        """Return the library of a build, or None if it must be built."""
        path = self._path(key)
        if not self._is_safe:
            return None
        try:
            origin = FileOrigin(path)
            if origin.metadata.key != key:
                raise QnnError("this is the entry of another build")
            os.utime(path)  # it was used now
        except QnnError:
            self._remove(path)
            return None
        except OSError:
            return None
        return origin.metadata, origin

    def keep(self, key: str, metadata: Metadata, origin: Origin) -> bool:
        """Keep a library that was built; whether that was possible.

        It is not where the folder cannot be written to, or where nothing links for the target.

        Args:
            key: of the build.
            metadata: of the library.
            origin: of its code.
        """
        path = self._path(key)
        try:
            if not self._is_safe:
                return False
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            origin.write(path, replace(metadata, key=key), None)
        except (OSError, QnnError):
            return False
        self._make_room(path)
        return True

    @functools.cached_property
    def _is_safe(self) -> bool:
        if reason := stranger_of(self.folder):
            warnings.warn(f"the cache is not used: {reason}", stacklevel=2)
        return reason is None

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _make_room(self, newest: Path) -> None:
        entries = []
        for path in filter(_is_entry, self.folder.iterdir()):
            with suppress(OSError):  # another process has removed it
                status = path.stat()
                entries.append((status.st_mtime_ns, path, status.st_size))
        total = sum(size for _, _, size in entries)
        for _, path, size in sorted(entries):
            if total <= self._limit:
                break
            if path != newest:
                self._remove(path)
                total -= size

    def _remove(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


class CachedOrigin:
    """Code from a cache, for all formats; see ``tvm_qnn.library.origin.Origin``."""

    def __init__(self, origin: Origin, lower: Callable[[], tvm.IRModule]) -> None:
        """Wrap it.

        Args:
            origin: of the code.
            lower: gives what it was compiled from.
        """
        self._origin = origin
        self._lower = lower

    @property
    def lowered(self) -> tvm.IRModule | None:
        """The lowered module, made anew: the cache holds code only."""
        return self._lower()

    @property
    def digest(self) -> str | None:
        """SHA-256 of the file."""
        return self._origin.digest

    def program(self) -> runtime.Program:
        """Load the code."""
        return self._origin.program()

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Copy the file."""
        self._origin.write(path, metadata, cc)


def _is_entry(path: Path) -> bool:
    """Tell whether a file has a name that a key gives; the folder may hold the user's own, too."""
    return path.suffix == _SUFFIX and bool(_KEY.fullmatch(path.stem))


def _add(digest: Any, data: Any) -> None:
    """Add data after its length, so that the same bytes divided otherwise are another key."""
    digest.update(len(data).to_bytes(8, "little") if isinstance(data, bytes) else b"\xff")
    digest.update(data)


@functools.cache
def _sources() -> str:
    """Return a digest of the sources that turn a module into code, and of TVM's compiler."""
    digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for folder in _SOURCES:
        for path in sorted(folder.rglob("*.py")):
            _add(digest, str(path.relative_to(folder)).encode())
            _add(digest, path.read_bytes())
    # Not its 260 MB: a compiler of the same version that was built anew has another time.
    for path in sorted((Path(tvm.__file__).parent / "lib").glob("*tvm_*")):
        status = path.stat()
        _add(digest, f"{path.name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()
