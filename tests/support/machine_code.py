"""What a library was compiled to, for this machine or another one."""

import tempfile
from pathlib import Path

import tvm

from tvm_qnn import Library
from tvm_qnn.library.built import BuiltOrigin
from tvm_qnn.standalone.arrangement import arrange
from tvm_qnn.standalone.export import code_of
from tvm_qnn.target.codegen import Compiled
from tvm_qnn.target.microcontrollers import is_bare


def assembly(library: Library) -> str:
    """All its functions, as text: where no system loads code, those of an export as C."""
    if is_bare(library.metadata.target):
        return str(_exported(library).inspect_source("asm"))
    kernels = _compiled(library).kernels
    return "".join(module.inspect_source("asm") for module in kernels.values())


def write_objects(library: Library) -> None:
    """Compile it to object files, which no linker has to take."""
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-objects-") as name:
        folder = Path(name)
        if is_bare(library.metadata.target):
            library.export(folder / "model", format="c")
            files = [folder / "model.o"]
        else:
            files = _compiled(library).write_objects(folder)
        assert all(file.stat().st_size for file in files)


def _exported(library: Library) -> tvm.runtime.Module:
    """Return the functions of an export as C, made of LLVM's text as it is there."""
    lowered, metadata = _origin(library).lowered, library.metadata
    arranged = arrange(lowered, metadata.signature, metadata.target, "model")
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-code-") as name:
        file = Path(name) / "model.ll"
        file.write_text(code_of(arranged))
        return tvm.runtime.load_module(str(file))


def _origin(library: Library) -> BuiltOrigin:
    origin = library._origin
    assert isinstance(origin, BuiltOrigin)
    return origin


def _compiled(library: Library) -> Compiled:
    return _origin(library)._compiled
