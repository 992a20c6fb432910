"""The code of libraries in files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import tvm_ffi

from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import replacing, scratch
from tvm_qnn.library import runtime
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.origin import Origin, best_variant, with_others
from tvm_qnn.library.package import Package, Variant, is_still, read_package

_NUMBERS: dict[tuple[Path, bytes], int] = {}
"""Numbers of the files that this process loaded, by path and contents."""

_NEXT = count()


class FileOrigin(Origin):
    """The code of a library's file; see ``Origin``."""

    def __init__(self, path: Path, digest: str | None = None, *, is_new: bool = False) -> None:
        """Read and check the file without loading any of its code.

        Args:
            path: the file.
            digest: the digest that it must have; see ``tvm_qnn.load``.
            is_new: whether this process has just written it.

        Raises:
            QnnError: if it is damaged or not a library.
            OSError: if it cannot be read.
        """
        self._path = path.absolute()
        self._package = read_package(self._path, digest, is_new=is_new)
        variants = [variant.metadata for variant in self._package.variants]
        self._taken = best_variant(variants)
        self.metadata = with_others(variants, self._taken)
        """The library's description of itself."""

    @property
    def digest(self) -> str | None:
        """SHA-256 of the file."""
        return self._package.digest

    def program(self) -> runtime.Program:
        """Load the code.

        Raises:
            QnnError: if the system's loader refuses the code.
        """
        package, variant = self._package, self._package.variants[self._taken]
        runtime.load_runtime()
        try:
            constants = [runtime.tensor(array, copy=False) for array in variant.constants]
            kernels = self._kernels(variant)
            program = runtime.Program(variant.bytecode, [kernels], constants, package)
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise QnnError(f"{self._path} cannot be loaded here: {reason}") from error
        if not is_still(self._path, package):
            # This spelling may have loaded other contents.
            _NUMBERS.pop((self._path, package.end), None)
            raise QnnError(f"{self._path} was replaced while it was loaded")
        return program

    def _kernels(self, variant: Variant) -> Any:
        """Return the module of a variant's kernels; only the program keeps it alive."""
        if not self._taken:
            name = _own_name(self._path, self._package)
            return tvm_ffi.load_module(name, keep_module_alive=False)
        # The system's loader cannot load a shared library from the middle of a file.
        with scratch() as folder:
            variant.link(folder / self._path.name)
            return tvm_ffi.load_module(str(folder / self._path.name), keep_module_alive=False)

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Copy the file."""
        del metadata, cc
        with replacing(path) as part:
            part.write_bytes(self._package.memory)
            part.chmod(0o755)


def read_origin(path: Path) -> FileOrigin:
    """Read and check a library's file, also for another machine, without loading its code.

    Raises:
        QnnError: if the file is missing, damaged or not such a library.
    """
    with named_in_errors(path):
        return FileOrigin(path)


@contextmanager
def named_in_errors(file: Path) -> Iterator[None]:
    """Check a library's name, and name the file in errors of the block, which reads it."""
    if not file.is_file():
        raise QnnError(f"no library at {file}")
    if file.suffix != ".so":
        raise QnnError(f"the name of a library must end in .so, got {file}")
    try:
        yield
    except Exception as error:  # TVM raises any error for a changed description or code
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise QnnError(f"{file} is not a library that can be loaded here: {reason}") from error


def _own_name(path: Path, package: Package) -> str:
    """Return a spelling of a file's path with which no other contents were loaded.

    The system's loader goes by the name: it would return the library that it once loaded with this
    name, even if the file was replaced since. Old kernels would then run on new constants.
    """
    if sys.platform == "win32":  # Windows cannot replace a loaded file
        return str(path)
    key = path, package.end
    if key not in _NUMBERS:
        _NUMBERS[key] = next(_NEXT)
    # "/a/./b" and "/a//b" are the same file: they spell the digits of a number in base 2.
    digits = "".join("/." if digit == "1" else "/" for digit in f"{_NUMBERS[key]:b}")
    return f"{path.parent}{digits}/{path.name}"
