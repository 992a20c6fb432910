"""The interface of a library's code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tvm_qnn.library import runtime
from tvm_qnn.library.metadata import Metadata

if TYPE_CHECKING:
    import tvm


class Origin(Protocol):
    """The code of a library: compiled in this process, or a file."""

    @property
    def lowered(self) -> tvm.IRModule | None:
        """The module that ``legalize.lower`` made of the model, if it is known."""

    @property
    def digest(self) -> str | None:
        """SHA-256 of the library's file, in hexadecimal, if there is one."""

    def program(self) -> runtime.Program:
        """Return the code in a form that runs on this machine."""

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Write the library's file."""
