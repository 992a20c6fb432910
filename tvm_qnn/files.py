"""Libraries from files."""

from __future__ import annotations

from pathlib import Path

import tvm_ffi

from qnn_ops.errors import QnnError
from tvm_qnn import runtime
from tvm_qnn.metadata import Metadata
from tvm_qnn.package import copy_package, read_package, same_file


class FileOrigin:
    """The code of a library's file; see ``tvm_qnn.library.Origin``."""

    lowered = None

    def __init__(self, path: Path) -> None:
        """Read and check the file; none of its code is loaded.

        Raises:
            QnnError: if it is damaged or no library.
            OSError: if it cannot be read.
        """
        self._path = path.absolute()
        self._package = read_package(self._path)

    @property
    def metadata(self) -> Metadata:
        """What the library tells of itself."""
        return self._package.metadata

    def program(self) -> runtime.Program:
        """Load the code.

        Raises:
            QnnError: if the system's loader refuses it.
        """
        package = self._package
        runtime.load_runtime()
        try:
            # Not kept alive beyond the program that uses it.
            kernels = tvm_ffi.load_module(self._path, keep_module_alive=False)
            constants = [runtime.tensor(array, copy=False) for array in package.constants]
            program = runtime.Program(package.bytecode, [kernels], constants, package)
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise QnnError(f"{self._path} cannot be loaded here: {reason}") from error
        if not same_file(self._path, package.memory):
            raise QnnError(f"{self._path} was replaced while it was loaded")
        return program

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Copy the file."""
        del metadata, cc
        copy_package(self._package, path)
