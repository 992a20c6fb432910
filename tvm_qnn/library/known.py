"""Finds the libraries of models that were compiled before, without importing TVM's compiler.

``tvm_qnn.build`` keeps libraries by keys of imported modules. This file keeps these keys, by
digests of everything that decides the result of a model's import and build: the model, its shapes,
the processor, and the versions of all that imports and compiles.
"""

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
"""The subfolder of the user's cache with the keys."""

_SOURCES = ("qnn_ops", "legalize", "frontends", "tvm_qnn")
_PROCESSOR = re.compile(
    r"^(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+)\s*:.*$",
    re.MULTILINE,
)
"""Finds the lines of /proc/cpuinfo that describe a processor."""


class _Keys(Kept):
    limit, suffix = 1_000_000, ".key"


class Known:
    """One model's entry, for some shapes of its inputs."""

    def __init__(self, folder: Path, key: str) -> None:
        """Take a folder and a key, without reading anything.

        Args:
            folder: the user's cache.
            key: a digest of everything that decides on the library.
        """
        self._builds = BuildCache(folder)
        self._kept = _Keys(folder / FOLDER)
        self._key = key

    def find(self, num_threads: int | None) -> Library | None:
        """Return the library if it was compiled before and still exists.

        Warns:
            LeftInFloatWarning: as the build warned.
        """
        try:
            build = self._kept.path(self._key).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return None
        if not (self._kept.is_safe and re.fullmatch(f"[0-9a-f]{{{2 * DIGEST_SIZE}}}", build)):
            return None
        if not (origin := self._builds.find(build)):
            return None
        library = Library(origin.metadata, origin, num_threads=num_threads)
        try:
            library._ready()  # load the code while its file exists
        except QnnError:
            return None
        for text in library.metadata.left_in_float:
            warnings.warn(text, LeftInFloatWarning, stacklevel=2)
        return library

    def keep(self, library: Library) -> None:
        """Store the key of a library's build if the user's cache has the library."""
        if not (library.metadata.key and self._kept.is_safe):
            return
        path = self._kept.path(self._key)
        with suppress(OSError, QnnError):
            self._kept.make_folder()
            with replacing(path) as part:
                part.write_text(library.metadata.key, encoding="ascii")
            self._kept.make_room(path)


def known(packages: Iterable[str], parts: Iterable[Any]) -> Known | None:
    """Return the entry of a model's library; None if nothing is cached.

    Args:
        packages: the distributions of the packages that read the model.
        parts: the model, its format, shapes, and other options of the importer, as bytes; or
            contiguous arrays, with bytes before each that tell its length.
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
    """Return a model's library; compile it if it was not compiled before.

    Args:
        packages: as for ``known``.
        parts: as for ``known``.
        compiled: imports and builds the model for "host", with the cache.
        num_threads: as for ``tvm_qnn.build``.
    """
    place = known(packages, parts)
    library = place.find(num_threads) if place else None
    if library is None:
        library = compiled()
        if place:
            place.keep(library)
    return library


def _has_passes() -> bool:
    """Tell whether the program changes TVM's passes, which would change the build's result."""
    if "tvm" not in sys.modules:
        return False
    import tvm

    from tvm_qnn.target.store import passes_text

    here, watched = passes_text(), bool(tvm.transform.PassContext.current().instruments)
    with tvm.transform.PassContext():
        return watched or here != passes_text()


def _has_rules() -> bool:
    """Tell whether the program has rules for custom operators; keys do not depend on these."""
    tables = (("frontends.tflite.options.custom", "RAW"), ("frontends.onnx.read.names", "CUSTOM"))
    return any(getattr(sys.modules.get(module), table, ()) for module, table in tables)


@functools.cache
def _makers() -> dict[str, str]:
    """Return the versions of everything that imports and compiles."""
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
