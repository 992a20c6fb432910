"""Digests of everything that compiles: sources, and TVM's compiler. This file imports no TVM."""

import functools
import hashlib
import importlib.util
import os
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.io.kept import DIGEST_SIZE


def folder_of(package: str) -> Path:
    """Return the folder from which a package is imported.

    Raises:
        QnnError: if it is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise QnnError(f"the package {package} is not installed")
    return Path(spec.origin).parent


def add(digest: Any, data: Any) -> None:
    """Add data after its length, so that other divisions of the same bytes give other keys."""
    digest.update(len(data).to_bytes(8, "little") if isinstance(data, bytes) else b"\xff")
    digest.update(data)


@functools.cache
def sources_digest(*folders: Path) -> str:
    """Return a digest of the sources in folders, and of TVM's compiler."""
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for folder in folders:
        add(digest, _folder_digest(folder))
    # Not the contents, which are 260 MB: a compiler that was built again has another time.
    for path in sorted((folder_of("tvm") / "lib").glob("*tvm_*")):
        status = path.stat()
        add(digest, f"{path.name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()


@functools.cache  # a build reads the sources of legalize for its key and for those of functions
def _folder_digest(folder: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for place, inner, names in os.walk(folder):  # takes a third of the time of Path.rglob
        inner[:] = sorted({*inner} - {"__pycache__"})  # any import may make this folder
        add(digest, os.path.relpath(place, folder).encode())
        for name in sorted(each for each in names if each.endswith(".py")):
            add(digest, name.encode())
            with open(f"{place}/{name}", "rb") as file:  # faster than Path.open
                add(digest, file.read())
    return digest.digest()
