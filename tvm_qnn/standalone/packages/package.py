"""What a package is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from tvm_qnn.standalone.sources import Program

VERSION = "1.0.0"
"""Of every package: the model's own is for those who publish it."""

EXAMPLES = "examples"
"""The folder of programs that call the model."""


@dataclass(frozen=True)
class Package:
    """The form of a folder that a build system takes.

    Attributes:
        texts: the files that tell the build system what there is, by their paths.
        processors: those that it is for, in words.
        triples: a pattern for the beginning of their targets' platforms.
        code: the folder of the sources and headers.
        library: where machine code and weights lie as a static library; None: they are an object
            file beside the sources.
    """

    texts: Callable[[Program], Mapping[str, str]]
    processors: str = "any target"
    triples: str = ""
    code: str = ""
    library: Callable[[Program], str] | None = None

    def place(self, name: str) -> str:
        """Return the path of a file of a plain export."""
        is_example = name.endswith(("_main.c", "_test.c"))
        return str(PurePosixPath(EXAMPLES if is_example else self.code, name))

    def place_of_code(self, program: Program) -> str:
        """Return the path of what has the machine code."""
        if self.library is None:
            return self.place(f"{program.prefix}.o")
        return self.library(program)


def library_name(program: Program) -> str:
    """Return the name of a model's machine code to linkers: what stands behind -l."""
    return f"{program.prefix}_code"


def sentence(program: Program) -> str:
    """Describe the package."""
    return f"The quantized model {program.prefix}, compiled by tvm-qnn for {program.machine}."
