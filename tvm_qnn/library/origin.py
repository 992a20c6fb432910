"""The interface of a library's code, and libraries of several variants.

Variants are the same model, compiled for several targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tvm_qnn.io.outputs import replacing
from tvm_qnn.library import runtime
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.package import read_package, write_package

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


def best_variant(variants: Sequence[Metadata]) -> int:
    """Return the index of the variant that runs best on this machine; 0 if none runs.

    The best variant uses the most extensions of the instruction set; of equals, the first one.
    """
    running = [place for place, each in enumerate(variants) if each.why_not_here() is None]
    return max(running, key=lambda place: len(variants[place].requirements.extensions), default=0)


def with_others(variants: Sequence[Metadata], taken: int) -> Metadata:
    """Return a library's description of itself, for the variant that was chosen."""
    others = (*variants[:taken], *variants[taken + 1 :])
    return replace(variants[taken], others=others)


class VariantsOrigin(Origin):
    """Code for several targets; see ``Origin``."""

    def __init__(self, variants: Sequence[tuple[Metadata, Origin]]) -> None:
        """Join the code for several targets.

        Args:
            variants: each library's description, and its code.
        """
        self._variants = tuple(variants)
        described = [metadata for metadata, _ in variants]
        self._taken = best_variant(described)
        self.metadata = with_others(described, self._taken)
        """The library's description of itself."""

    def program(self) -> runtime.Program:
        """Return the program of the variant that runs best here."""
        return self._variants[self._taken][1].program()

    def write(self, path: Path, metadata: Metadata, cc: str | None) -> None:
        """Write the file of all variants."""
        del metadata
        with replacing(path) as part:
            packages = []
            for number, (each, origin) in enumerate(self._variants):
                origin.write(file := part.with_name(f"{number}.so"), each, cc)
                packages.append(read_package(file, is_new=True))
            write_package(part, [variant for each in packages for variant in each.variants])
