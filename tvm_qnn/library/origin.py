"""The interface of a library's code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tvm_qnn.library import runtime
from tvm_qnn.library.metadata import Metadata

if TYPE_CHECKING:
    import tvm


class Origin(Protocol):
    """The code of a library: compiled in this process, or a file."""

    lower: Callable[[], tvm.IRModule] | None = None
    """Lowers the model again, if this process has it: the code is all that an origin keeps."""

    @property
    def lowered(self) -> tvm.IRModule | None:
        """The lowered module, if it can be made."""
        return self.lower and self.lower()

    @property
    def digest(self) -> str | None:
        """SHA-256 of the library's file, in hexadecimal, if there is one."""
        return None

    def program(self) -> runtime.Program:
        """Return the code in a form that runs on this machine."""

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Write the library's file."""
