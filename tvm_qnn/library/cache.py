"""A cache of builds, so that the same model for the same target is compiled once.

An entry is a library's file. Its name is a digest of everything that decides the result: the
module, its constants, target and options, the sources of tvm-qnn, and the versions of TVM, LLVM,
Python and numpy. Any change leads to another name, so that no entry becomes stale. The least
recently used entries make room. Entries are checked when they are read, as all libraries are; a
damaged one is removed and built again. Files appear in one step, so that processes can share a
cache. If two build the same at the same time, the result of either stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.kept import DIGEST_SIZE, Kept
from tvm_qnn.library.files import FileOrigin
from tvm_qnn.library.metadata import Metadata, compiler_versions, runtime_versions
from tvm_qnn.library.origin import Origin
from tvm_qnn.target.sources import add, folder_of, sources_digest

if TYPE_CHECKING:
    import tvm

_SOURCES = [*map(folder_of, ("qnn_ops", "legalize")), Path(__file__).parents[1]]
"""The folders of the code that turns a module into a library."""


def build_key(
    mod: tvm.IRModule,
    params: Mapping[str, Any],
    target: tvm.target.Target,
    options: Mapping[str, Any],
) -> str:
    """Return a digest of everything that decides the result of a build.

    Args:
        mod: the module to build.
        params: its constants by parameter name.
        target: the target.
        options: the build's options, as JSON can hold them.
    """
    import tvm

    from qnn_ops.dialect.registry import view_of
    from tvm_qnn.library.module_text import module_text
    from tvm_qnn.target.store import passes_text

    versions = {**runtime_versions(), **compiler_versions(), "sources": sources_digest(*_SOURCES)}
    texts = [module_text(mod), str(target), passes_text(), json.dumps([options, versions])]
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for text in texts:
        add(digest, text.encode())
    for name in sorted(params):
        value = params[name]
        array = view_of(value) if isinstance(value, tvm.runtime.Tensor) else np.asarray(value)
        add(digest, f"{name} {array.dtype} {array.shape}".encode())
        add(digest, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


class BuildCache(Kept):
    """Libraries in a folder, by the keys of their builds."""

    limit, suffix = 2_000_000_000, ".so"

    def find(self, key: str) -> FileOrigin | None:
        """Return the code of a build; None if it must be built."""
        path = self.path(key)
        if not self.is_safe:
            return None
        try:
            origin = FileOrigin(path)
            if origin.metadata.key != key:
                raise QnnError("this is the entry of another build")
            os.utime(path)  # mark it as used now
        except QnnError:
            self.remove(path)
            return None
        except OSError:
            return None
        return origin

    def keep(self, key: str, metadata: Metadata, origin: Origin) -> FileOrigin | None:
        """Store a library after its build; return its code in the cache.

        None if the folder cannot be written to, or no linker is there for the target.

        Args:
            key: the build's key.
            metadata: the library's description.
            origin: the library's code.
        """
        path = self.path(key)
        try:
            if not self.is_safe:
                return None
            self.make_folder()
            origin.write(path, replace(metadata, key=key), None)
            kept = FileOrigin(path, is_new=True)
        except (OSError, QnnError):
            return None
        self.make_room(path)
        return kept
