"""What a library was compiled to, for this machine or another one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tvm_qnn import Library
from tvm_qnn.library.built import BuiltOrigin
from tvm_qnn.target.codegen import Compiled


def assembly(library: Library) -> str:
    """All its functions, as text."""
    kernels = _compiled(library).kernels
    return "".join(module.inspect_source("asm") for module in kernels.values())


def write_objects(library: Library) -> None:
    """Compile it to object files, which no linker has to take."""
    compiled = _compiled(library)
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-objects-") as folder:
        files = compiled.write_objects(Path(folder))
        assert all(file.stat().st_size for file in files)


def _compiled(library: Library) -> Compiled:
    origin = library._origin
    assert isinstance(origin, BuiltOrigin)
    return origin._compiled
