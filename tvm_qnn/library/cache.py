"""A cache of builds: the same model for the same target is compiled once.

An entry is the file of a library, named by a digest of everything that decides what is compiled:
the module, its constants, target and options, the sources of tvm-qnn, and the versions of TVM,
LLVM, Python and numpy. What is changed has another name, so nothing becomes stale; what is not
used for long makes room. Entries are checked when they are read, as all libraries are, and one
that is damaged is removed and built again. Files appear in one step, so processes can share a
cache; two that build the same at the same time both do, and either's result stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.kept import DIGEST_SIZE, Kept
from tvm_qnn.library import runtime
from tvm_qnn.library.files import FileOrigin
from tvm_qnn.library.metadata import Metadata, compiler_versions, runtime_versions
from tvm_qnn.library.origin import Origin
from tvm_qnn.target.sources import add, folder_of, sources_digest

if TYPE_CHECKING:
    import tvm

_SOURCES = [*map(folder_of, ("qnn_ops", "legalize")), Path(__file__).parents[1]]
"""The folders of what turns a module into code."""

LIMIT = 2_000_000_000
"""Bytes that the entries may take together. Then those are removed that were not used longest."""

_SUFFIX = ".so"


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
    import tvm

    from tvm_qnn.target.store import passes_text

    versions = {**runtime_versions(), **compiler_versions(), "sources": _sources()}
    texts = [tvm.ir.save_json(mod), str(target), passes_text(), json.dumps([options, versions])]
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for text in texts:
        add(digest, text.encode())
    for name in sorted(params):
        value = params[name]
        array = value.numpy() if isinstance(value, tvm.runtime.Tensor) else np.asarray(value)
        add(digest, f"{name} {array.dtype} {array.shape}".encode())
        add(digest, np.ascontiguousarray(array).data)
    return digest.hexdigest()


class BuildCache:
    """Libraries in a folder, by the keys of their builds."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        """Use a folder; it is made when something is stored.

        Args:
            folder: of the entries.
            limit: bytes that they may take together.
        """
        self._kept = Kept(folder, limit, _SUFFIX)

    def find(self, key: str) -> tuple[Metadata, Origin] | None:
        """Return the library of a build, or None if it must be built."""
        path = self._kept.path(key)
        if not self._kept.is_safe:
            return None
        try:
            origin = FileOrigin(path)
            if origin.metadata.key != key:
                raise QnnError("this is the entry of another build")
            os.utime(path)  # it was used now
        except QnnError:
            self._kept.remove(path)
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
        path = self._kept.path(key)
        try:
            if not self._kept.is_safe:
                return False
            self._kept.make_folder()
            origin.write(path, replace(metadata, key=key), None)
        except (OSError, QnnError):
            return False
        self._kept.make_room(path)
        return True


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


def _sources() -> str:
    return sources_digest(*_SOURCES)
