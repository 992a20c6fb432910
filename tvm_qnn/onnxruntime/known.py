"""Models that were compiled before: their libraries are found without TVM's compiler.

``tvm_qnn.build`` keeps libraries under keys of imported modules. Here are those keys, by digests of
all that decides what a model's import and build give: the model, its constants in other files, the
shapes, the processor, and what imports and compiles.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.kept import DIGEST_SIZE, Kept, cache_folder
from tvm_qnn.io.outputs import replacing
from tvm_qnn.library.cache import BuildCache
from tvm_qnn.library.library import Library
from tvm_qnn.library.metadata import runtime_versions
from tvm_qnn.target.sources import add, folder_of, sources_digest

FOLDER = "onnx"
"""The keys' place in the folder of the user's cache."""

LIMIT = 1_000_000
"""Bytes that the keys may take together."""

_SUFFIX = ".key"
_SOURCES = ("qnn_ops", "legalize", "frontends", "tvm_qnn")
_PROCESSOR = re.compile(
    r"^(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+)\s*:.*$",
    re.MULTILINE,
)
"""The lines that tell of a processor in /proc/cpuinfo."""


class Known:
    """The place of one model's library, for shapes of its inputs."""

    def __init__(self, folder: Path, key: str) -> None:
        """Look nowhere yet.

        Args:
            folder: the user's cache.
            key: a digest of what decides on the library.
        """
        self._builds = BuildCache(folder)
        self._kept = Kept(folder / FOLDER, LIMIT, _SUFFIX)
        self._key = key

    def find(self, num_threads: int | None) -> Library | None:
        """Return the library if it was compiled before and is still there."""
        try:
            build = self._kept.path(self._key).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return None
        if not (self._kept.is_safe and re.fullmatch(f"[0-9a-f]{{{2 * DIGEST_SIZE}}}", build)):
            return None
        if not (found := self._builds.find(build)):
            return None
        library = Library(*found, num_threads=num_threads)
        try:
            library._ready()  # while there is the file
        except QnnError:
            return None
        return library

    def keep(self, library: Library) -> None:
        """Keep the key of a library's build, if the user's cache has the library."""
        if not (library.metadata.key and self._kept.is_safe):
            return
        path = self._kept.path(self._key)
        with suppress(OSError, QnnError):
            self._kept.make_folder()
            with replacing(path) as part:
                part.write_text(library.metadata.key, encoding="ascii")
            self._kept.make_room(path)


def known(proto: Any, shapes: Mapping[str, tuple[int, ...]]) -> Known | None:
    """Return the place of a model's library; None where nothing is kept.

    Args:
        proto: from ``frontends.onnx.reader.read_proto``.
        shapes: of its inputs.
    """
    folder = cache_folder()
    if folder is None or _has_passes():
        return None
    from frontends.onnx.mapped import is_mapped, mapped_array, without_mapped

    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    texts = [json.dumps(list(shapes.items())), json.dumps(_makers()), _processor()]
    for text in texts:
        add(digest, text.encode())
    add(digest, without_mapped(proto).SerializeToString(deterministic=True))
    for tensor in filter(is_mapped, proto.graph.initializer):
        array = mapped_array(tensor)
        add(digest, f"{tensor.name} {array.dtype} {array.shape}".encode())
        add(digest, np.ascontiguousarray(array).data)
    return Known(folder, digest.hexdigest())


def _has_passes() -> bool:
    """Tell whether the program changes TVM's passes, so that a build gives something else."""
    if "tvm" not in sys.modules:
        return False
    import tvm

    from tvm_qnn.target.store import passes_text

    here, watched = passes_text(), bool(tvm.transform.PassContext.current().instruments)
    with tvm.transform.PassContext():
        return watched or here != passes_text()


@functools.cache
def _makers() -> dict[str, str]:
    """Return what tells of all that imports and compiles."""
    packages = {name: version(name) for name in ("numpy", "onnx")}
    sources = sources_digest(*map(folder_of, _SOURCES))
    return {**runtime_versions(), **packages, "sources": sources, "python": sys.version}


@functools.cache
def _processor() -> str:
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except (OSError, UnicodeDecodeError):
        first = platform.processor()
    told = "\n".join(_PROCESSOR.findall(first)) or first
    return f"{platform.platform()} {told}"
