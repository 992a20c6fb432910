"""The result of ``relay.build``: a library with the names that Relay's result had."""

from __future__ import annotations

import os
import tarfile
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import replacing
from tvm_qnn.io.text import to_json
from tvm_qnn.library.library import Library, load
from tvm_qnn.library.remote import RemoteLibrary
from tvm_qnn.library.watch import functions_apart

_IN_ARCHIVE = "library.so"

_EXPORTED: weakref.WeakValueDictionary[Path, Library] = weakref.WeakValueDictionary()
"""The libraries of this process, by the file to which each was written."""


class FactoryModule:
    """A compiled model, as ``relay.build`` returns it.

    ``lib["default"](device)`` makes the argument of ``graph_executor.GraphModule``. It can also be
    unpacked as in old scripts: ``graph, lib, params = relay.build(...)``.
    """

    def __init__(
        self, library: Library | RemoteLibrary, build_apart: Callable[[], Library] | None = None
    ) -> None:
        """Wrap a library.

        Args:
            library: a library of tvm-qnn, or one on a device.
            build_apart: compiles it again with separate functions, to time them one by one.
        """
        self.library = library
        self._build_apart = build_apart

    def to_watch(self) -> Library:
        """Return the library to time function by function; a library from a file is used unchanged.

        Raises:
            QnnError: if the library is on a device.
        """
        if not isinstance(self.library, Library):
            raise QnnError("profile: a library on a device is timed as a whole, by benchmark")
        if self._build_apart is None:
            return self.library
        with functions_apart():
            return self._build_apart()

    def __getitem__(self, name: str) -> Any:
        """Return the constructor of an executor: ``lib["default"]``, or "debug_create"."""
        if name == "debug_create":
            return lambda _name, *devices: self._on_device(*devices)
        if name != "default":
            raise QnnError(f"a compiled model has the entry 'default', not {name!r}")
        return self._on_device

    def __iter__(self) -> Iterator[Any]:
        """Return graph, library and parameters."""
        return iter((self.get_graph_json(), self, self.get_params()))

    def get_graph_json(self) -> str:
        """Return names, shapes and dtypes of inputs and outputs as JSON: there is no graph."""
        return to_json(asdict(self.library.signature))

    def get_params(self) -> dict[str, Any]:
        """Return no parameters: the weights are part of the library."""
        return {}

    def get_lib(self) -> FactoryModule:
        """Return this object: the library is not separate from the graph any more."""
        return self

    graph_json = property(get_graph_json)
    params = property(get_params)
    lib = property(get_lib)

    def export_library(
        self, file_name: str | os.PathLike[str], *, cc: str | None = None, **_options: Any
    ) -> None:
        """Write a shared library; ``tvm_qnn.relay.tvm.runtime.load_module`` loads it.

        Args:
            file_name: the file, which ends in .so, or in .tar for an archive of it.
            cc: the linker to use.

        Raises:
            QnnError: as ``tvm_qnn.Library.export`` raises it.
        """
        if not isinstance(self.library, Library):
            raise QnnError("export_library: a library on a device is not written again")
        path = Path(file_name)
        _EXPORTED[path.resolve()] = self.library
        if path.suffix != ".tar":
            self.library.export(path, cc)
            return
        with tempfile.TemporaryDirectory() as folder, replacing(path) as temporary:
            inner = Path(folder) / _IN_ARCHIVE
            self.library.export(inner, cc)
            with tarfile.open(temporary, "w") as archive:
                archive.add(inner, _IN_ARCHIVE)

    entry_name = "default"

    @property
    def imported_modules(self) -> list[FactoryModule]:
        """This module: its kernels are not separate from it."""
        return [self]

    def get_source(self, fmt: str = "") -> str:
        """Return the kernels as TVMScript, whatever form is requested.

        Raises:
            QnnError: if the library was loaded from a file.
        """
        del fmt
        lowered = self.library._open().lowered if isinstance(self.library, Library) else None
        if lowered is None:
            raise QnnError("get_source: a library that was loaded has its kernels as code alone")
        return str(lowered.script())

    def _on_device(self, *devices: Any) -> FactoryModule:
        for device in devices:
            if str(device).partition(":")[0] != "cpu":
                raise QnnError(f"libraries run on the processor, tvm.cpu(), not on {device}")
        return self


def load_module(path: str | os.PathLike[str]) -> FactoryModule:
    """Load a file that ``export_library`` wrote, a shared library or an archive of one.

    Raises:
        QnnError: if it is not such a file.
    """
    if Path(path).suffix != ".tar":
        return FactoryModule(load(path))
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / _IN_ARCHIVE
        try:
            with tarfile.open(path) as archive:
                member = archive.extractfile(_IN_ARCHIVE)
                inner.write_bytes(member.read() if member else b"")
        except (tarfile.TarError, KeyError, OSError) as error:
            raise QnnError(f"{path} holds no library that export_library wrote: {error}") from error
        return FactoryModule(load(inner))


def exported(path: str | os.PathLike[str]) -> Library:
    """Return the library of this process that was written to a file.

    Raises:
        QnnError: if there is none, or it was deleted.
    """
    if (library := _EXPORTED.get(Path(path).resolve())) is None:
        raise QnnError(f"{path}: a device takes what this process built; build and export it here")
    return library
