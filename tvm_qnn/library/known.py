"""Models that were compiled before: their libraries are found without TVM's compiler.

``tvm_qnn.build`` keeps libraries under keys of imported modules. Here are those keys, by digests of
all that decides what a model's import and build give: the model, its shapes, the processor, and
what imports and compiles.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qnn_ops.errors import LeftInFloatWarning, QnnError
from tvm_qnn.io.kept import DIGEST_SIZE, Kept, cache_folder
from tvm_qnn.io.outputs import replacing
from tvm_qnn.library.cache import BuildCache
from tvm_qnn.library.library import Library
from tvm_qnn.library.metadata import runtime_versions
from tvm_qnn.target.sources import add, folder_of, sources_digest

FOLDER = "models"
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
        """Return the library if it was compiled before and is still there.

        Warns:
            LeftInFloatWarning: as the build warned.
        """
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
        for text in library.metadata.left_in_float:
            warnings.warn(text, LeftInFloatWarning, stacklevel=2)
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


def known(packages: Iterable[str], parts: Iterable[Any]) -> Known | None:
    """Return the place of a model's library; None where nothing is kept.

    Args:
        packages: that read the model, by the names of their distributions.
        parts: the model, its format, shapes, and what else the importer is asked for: bytes, or
            contiguous arrays behind what tells their lengths.
    """
    folder = cache_folder()
    if folder is None or _has_passes() or _has_rules():
        return None
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    versions = {name: version(name) for name in packages}
    for text in (json.dumps(versions), json.dumps(_makers()), _processor()):
        add(digest, text.encode())
    for part in parts:
        add(digest, part)
    return Known(folder, digest.hexdigest())


def library_of(
    packages: Iterable[str],
    parts: Iterable[Any],
    compiled: Callable[[], Library],
    num_threads: int | None,
) -> Library:
    """Return a model's library, which is compiled if it was not before.

    Args:
        packages: as ``known`` takes them, as are the parts.
        parts: of the key.
        compiled: imports and builds the model for "host", with the cache.
        num_threads: as ``tvm_qnn.build`` takes it.
    """
    place = known(packages, parts)
    library = place.find(num_threads) if place else None
    if library is None:
        library = compiled()
        if place:
            place.keep(library)
    return library


def _has_passes() -> bool:
    """Tell whether the program changes TVM's passes, so that a build gives something else."""
    if "tvm" not in sys.modules:
        return False
    import tvm

    from tvm_qnn.target.store import passes_text

    here, watched = passes_text(), bool(tvm.transform.PassContext.current().instruments)
    with tvm.transform.PassContext():
        return watched or here != passes_text()


def _has_rules() -> bool:
    """Tell whether the program has rules for custom operators, which no key tells apart."""
    tables = (("frontends.tflite.options.custom", "RAW"), ("frontends.onnx.read.names", "CUSTOM"))
    return any(getattr(sys.modules.get(module), table, ()) for module, table in tables)


@functools.cache
def _makers() -> dict[str, str]:
    """Return what tells of all that imports and compiles."""
    sources = sources_digest(*map(folder_of, _SOURCES))
    makers = {"sources": sources, "python": sys.version, "numpy": version("numpy")}
    return {**runtime_versions(), **makers}


@functools.cache
def _processor() -> str:
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except (OSError, UnicodeDecodeError):
        first = platform.processor()
    told = "\n".join(_PROCESSOR.findall(first)) or first
    return f"{platform.platform()} {told}"
