"""The code of libraries that were compiled in this process."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tvm_qnn.io.steps import step
from tvm_qnn.library import runtime
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.origin import Origin
from tvm_qnn.library.package import Variant, write_package
from tvm_qnn.library.pages import in_large_pages
from tvm_qnn.target.codegen import Compiled
from tvm_qnn.target.linker import find_linker, shared_library_linker


class BuiltOrigin(Origin):
    """Newly compiled code; see ``Origin``."""

    def __init__(self, compiled: Compiled) -> None:
        """Wrap compiled code."""
        self._compiled = compiled

    def program(self) -> runtime.Program:
        """Turn the kernels into machine code in memory."""
        compiled = self._compiled
        constants = in_large_pages(compiled.constants, runtime.ALIGNMENT)
        return runtime.Program(compiled.bytecode, compiled.runnable(), constants, compiled)

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Link the kernels and write the file."""
        link = self._link(find_linker(cc, metadata.requirements.platform))
        write_package(path, [Variant(metadata, link, self._compiled.bytecode, self.constants())])

    def constants(self) -> list[np.ndarray]:
        """Return the constants as arrays that share their memory."""
        return [np.from_dlpack(tensor) for tensor in self._compiled.constants]

    def _link(self, command: list[str]) -> Callable[[Path], None]:
        def link(output: Path) -> None:
            step("write the machine code")
            objects = self._compiled.write_objects(output.parent)
            step("link")
            shared_library_linker(command)(str(output), list(map(str, objects)))

        return link
