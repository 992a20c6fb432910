"""The models of a folder, which may change while a server runs."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from frontends.formats import formats
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import scratch
from tvm_qnn.serving.served import Served

Key = tuple[str, str]
"""A model's name and version; the version is "" if there is none."""

LIBRARY, LABELS = ".so", ".txt"

_Stamp = tuple[tuple[int, int, int], ...]
_SYMBOLS = ".json"  # many files with this ending are not models


def find_models(folder: Path) -> dict[Key, Path]:
    """Return the models of a folder: NAME.so, NAME/VERSION.so, and model files with such names.

    If a library and a model file have the same name, the library is taken.

    Raises:
        QnnError: if two files are the same model, or a model is there with and without versions.
        OSError: if the folder cannot be read.
    """
    found: dict[Key, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            for version in filter(_is_model, sorted(path.iterdir())):
                _add(found, (path.name, version.stem), version)
        elif _is_model(path):
            _add(found, (path.stem, ""), path)
    names = {name for name, version in found if version}
    if both := sorted(names & {name for name, version in found if not version}):
        raise QnnError(f"{folder}: {both[0]} is a model and a folder of its versions: keep one")
    return found


class Folder:
    """A folder of models, and the models that were loaded from it."""

    def __init__(
        self, path: Path, make: Callable[[Path, Path | None], Served], say: Callable[[str], None]
    ) -> None:
        """Observe a folder.

        Args:
            path: the folder.
            make: makes a model from a file, and from the file of its class names if there is one:
                the file of the same name that ends in ``.txt``.
            say: called with a text about each file that cannot be served.
        """
        self._path, self._make, self._say = path, make, say
        self._taken: dict[Key, _Stamp] = {}
        self._seen: dict[Key, _Stamp] = {}
        self._trouble = ""

    def first(self) -> dict[Key, Served]:
        """Load all models.

        Raises:
            QnnError: if no model can be served.
        """
        found = find_models(self._path)
        self._seen = {key: _stamp(path) for key, path in found.items()}
        made = {key: served for key, served in self._changes(found) if served is not None}
        if not made:
            raise QnnError(f"{self._path} has no model that can be served")
        return made

    def changes(self) -> list[tuple[Key, Served | None]]:
        """Return models that are new or changed since the last call, and None for each removed one.

        A file is read once two calls found it unchanged: before that, someone may still write it.
        """
        try:
            found = find_models(self._path)
            changed = [*self._changes(found)]
            self._seen = {key: _stamp(path) for key, path in found.items()}
        except (OSError, QnnError) as error:
            if str(error) != self._trouble:
                self._say(f"the models stay as they are: {error}")
            self._trouble = str(error)
            return []
        self._trouble = ""
        return changed

    def _changes(self, found: dict[Key, Path]) -> Iterator[tuple[Key, Served | None]]:
        for key, path in found.items():
            stamp = _stamp(path)
            if stamp == self._taken.get(key) or stamp != self._seen.get(key):
                continue
            self._taken[key] = stamp
            try:
                yield key, self._made(path)
            except (OSError, QnnError) as error:
                self._say(f"{path.name} is not served: {error}")
        for key in self._taken.keys() - found.keys():
            del self._taken[key]
            yield key, None

    def _made(self, path: Path) -> Served:
        labels = path.with_suffix(LABELS)
        names = labels if labels.is_file() else None
        if path.suffix != LIBRARY:
            return self._make(path, names)
        # Use a copy: writing over a loaded library changes the code that runs.
        with scratch() as folder:
            copy = folder / path.name
            shutil.copyfile(path, copy)
            try:
                served = self._make(copy, names)
                served.library.digest  # noqa: B018 (loads the code, while the copy is there)
            except QnnError as error:
                raise QnnError(str(error).replace(str(folder), str(path.parent))) from error
        return served


def _is_model(path: Path) -> bool:
    suffixes = {LIBRARY, *(suffix for one in formats() for suffix in one.suffixes)} - {_SYMBOLS}
    return path.suffix.lower() in suffixes and not path.name.startswith(".") and path.is_file()


def _add(found: dict[Key, Path], key: Key, path: Path) -> None:
    before = found.get(key)
    if before is None or path.suffix == LIBRARY:
        found[key] = path
    elif before.suffix != LIBRARY:
        raise QnnError(f"{before} and {path.name} are the same model: keep one")


def _stamp(path: Path) -> _Stamp:
    """Return a value that changes if a model's file or its labels' file is replaced or written."""
    files = [each for each in (path, path.with_suffix(LABELS)) if each.exists()]
    stats = [each.stat() for each in files]
    return tuple((stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in stats)
