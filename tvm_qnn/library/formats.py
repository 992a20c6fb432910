"""The formats that ``Library.export`` writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from qnn_ops.errors import QnnError
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.library.origin import Origin

if TYPE_CHECKING:
    import tvm


def _write_so(origin: Origin, metadata: Metadata, path: Path, cc: str | None) -> None:
    _check(path, metadata)
    origin.write(path, metadata, cc)


def _write_tvm(origin: Origin, metadata: Metadata, path: Path, cc: str | None) -> None:
    _check(path, metadata)
    import tvm

    from legalize import relax_pipeline
    from tvm_qnn.io.outputs import replacing
    from tvm_qnn.target.linker import find_linker, shared_library_linker
    from tvm_qnn.target.objects import OF_TVM, check_file_limit, in_memory, settling
    from tvm_qnn.target.passes import PIPELINE

    target = metadata.target
    with target:
        lowered = _lowered(origin, "tvm")
        executable = tvm.compile(
            lowered, target=target, relax_pipeline=relax_pipeline(target), tir_pipeline=PIPELINE
        )
    linker = shared_library_linker(find_linker(cc, metadata.requirements.platform))
    with replacing(path) as part, in_memory(part.with_name(name) for name in OF_TVM):
        check_file_limit()
        executable.export_library(
            str(part), fcompile=settling(linker), workspace_dir=str(part.parent)
        )


def _write_c(origin: Origin, metadata: Metadata, path: Path, cc: str | None) -> None:
    del cc
    from tvm_qnn.standalone.export import export_standalone

    export_standalone(_lowered(origin, "c"), metadata.signature, metadata.target, path)


FORMATS: dict[str, Callable[[Origin, Metadata, Path, str | None], None]] = {
    "so": _write_so,
    "tvm": _write_tvm,
    "c": _write_c,
}
"""The writers by the format's name."""


def _check(path: Path, metadata: Metadata) -> None:
    """Check that a shared library can be written to a path, and is of use for the target."""
    from tvm_qnn.target.microcontrollers import is_bare

    if path.suffix != ".so":
        raise QnnError(f"the name of an exported library must end in .so, got {path}")
    if not path.parent.is_dir():
        raise QnnError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise QnnError(f"cannot write {path}: it is a folder")
    if is_bare(metadata.target):
        raise QnnError(
            f"nothing loads libraries on {metadata.requirements.platform}: export it in format 'c'"
        )


def _lowered(origin: Origin, name: str) -> tvm.IRModule:
    lowered = origin.lowered
    if lowered is None:
        raise QnnError(
            f"a loaded library cannot be exported in format {name!r}, nor one for several targets: "
            "export what build gives for one"
        )
    return lowered
