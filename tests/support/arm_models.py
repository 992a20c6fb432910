"""Whole models on emulated ARM processors, through TVM's runtime or without it."""

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import tvm
import tvm_ffi.libinfo
from tvm import relax

from frontends.tflite import from_tflite
from legalize import lower, relax_pipeline
from qnn_ops.dialect.signature import Signature, signature_of
from tests.support.arm import AARCH64, Core
from tests.support.standalone import check_call, compile_example, run_example
from tvm_qnn.library.metadata import Metadata
from tvm_qnn.standalone.export import export_standalone
from tvm_qnn.target.linker import find_linker, shared_library_linker
from tvm_qnn.target.passes import PIPELINE
from tvm_qnn.target.target import parse_target, requirements

RUNTIME = Path(sys.prefix, "arm")
"""Where .ci/install-arm puts TVM's runtime for aarch64."""

needs_runtime = pytest.mark.skipif(
    not (RUNTIME / "libtvm_ffi.so").is_file(),
    reason=f"TVM's runtime for aarch64 is not in {RUNTIME}: .ci/install-arm puts it there",
)

needs_python = pytest.mark.skipif(
    not (RUNTIME / "site").is_dir(),
    reason=f"no Python for aarch64 is in {RUNTIME}: .ci/install-arm-python puts it there",
)

_EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cpp" / "run_library.cc"


def lowered(content: bytes, core: Core) -> tuple[tvm.IRModule, Metadata]:
    """A model as code for a core, not yet compiled: ``build`` compiles for its own format."""
    mod, params = from_tflite(content)
    return lowered_module(relax.transform.BindParams("main", params)(mod) if params else mod, core)


def lowered_module(mod: tvm.IRModule, core: Core) -> tuple[tvm.IRModule, Metadata]:
    """Return a module of the dialect as code for a core, likewise."""
    target = parse_target(core.target)
    signature = signature_of(mod)
    with target:
        mod = lower(mod, target)
    return mod, Metadata(signature, str(target), requirements(target), {}, "")


def run_without_runtime(
    content: bytes, core: Core, inputs: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Export a model as C does, and run it once on a core."""
    return run_lowered(*lowered(content, core), core, inputs)


def run_lowered(
    mod: tvm.IRModule, metadata: Metadata, core: Core, inputs: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Export what ``lowered_module`` gives as C does, and run it once on a core."""
    with TemporaryDirectory(prefix="tvm-qnn-arm-") as name:
        folder = Path(name)
        export_standalone(mod, metadata.signature, metadata.target, folder / "model")
        program = compile_example(folder, "model", core.machine.compiler)
        words: list[str | Path] = [core.machine.emulator, "-cpu", core.name, program]
        return run_example(words, metadata.signature, [inputs], folder)[0]


def run_with_runtime(content: bytes, core: Core, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Export a model for TVM's runtime, and run it once on a core, in the example of C++."""
    mod, metadata = lowered(content, core)
    with TemporaryDirectory(prefix="tvm-qnn-arm-") as name:
        folder = Path(name)
        with metadata.target:
            pipeline = relax_pipeline(metadata.target)
            executable = tvm.compile(
                mod, target=metadata.target, relax_pipeline=pipeline, tir_pipeline=PIPELINE
            )
        linker = shared_library_linker(find_linker(platform=metadata.requirements.platform))
        executable.export_library(str(folder / "model.so"), fcompile=linker)
        return run_in_example(folder / "model.so", metadata.signature, core, inputs)


def run_in_example(
    library: Path, signature: Signature, core: Core, inputs: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Run a library in TVM's own format once on a core, in the example of C++.

    Args:
        library: its file; further files are written beside it.
        signature: of its model.
        core: of AArch64.
        inputs: in order.

    Returns:
        The outputs, in order.
    """
    folder = library.parent
    words: list[str | Path] = [library]
    for number, array in enumerate(inputs):
        file = folder / f"input{number}.bin"
        file.write_bytes(np.asarray(array, order="C").tobytes())
        words.append(f"{array.dtype}:{'x'.join(map(str, array.shape))}:{file}")
    emulator = [AARCH64.emulator, "-cpu", core.name, "-L", f"/usr/{AARCH64.triple}"]
    check_call([*emulator, _runner(), *words], folder)
    return [
        np.fromfile(folder / f"output{i}.bin", info.dtype).reshape(info.shape)
        for i, info in enumerate(signature.outputs)
    ]


def emulated_python(core: Core, folder: Path) -> Path:
    """Return a program in the folder that is Python on a core, with the packages of a device."""
    root = RUNTIME / "root"
    program = folder / "python"
    program.write_text(
        f"#!/bin/sh\nexport PYTHONHOME={root}/usr PYTHONPATH={RUNTIME}/site PYTHONNOUSERSITE=1\n"
        f"export TVM_USE_RUNTIME_LIB=1\n"
        f'exec {core.machine.emulator} -cpu {core.name} -L {root} {root}/usr/bin/python3.11 "$@"\n'
    )
    program.chmod(0o755)
    return program


@cache
def _runner() -> Path:
    """Return the example, cross-compiled."""
    folder = TemporaryDirectory(prefix="tvm-qnn-arm-")
    _KEPT.append(folder)
    program = Path(folder.name, "run_library")
    headers = [tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path()]
    check_call(
        [
            *(f"{AARCH64.triple}-g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"),
            *(word for header in headers for word in ("-isystem", header)),
            *(
                "-o",
                program,
                _EXAMPLE,
                "-Wl,--no-as-needed",
                f"-L{RUNTIME}",
                f"-Wl,-rpath,{RUNTIME}",
            ),
            *("-ltvm_runtime", "-ltvm_ffi"),
        ]
    )
    return program


_KEPT: list[TemporaryDirectory[str]] = []  # removed when Python ends
os.environ.setdefault("TVM_NUM_THREADS", "1")  # of emulated programs
