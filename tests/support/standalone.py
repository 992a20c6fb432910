"""Programs made of standalone exports, run on files."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qnn_ops.dialect.signature import Signature
from tests.support.arm import Core
from tvm_qnn import Library

_FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")
_TIME_LIMIT = 300.0  # seconds


def run_standalone(
    library: Library, runs: Sequence[Sequence[np.ndarray]], folder: Path, core: Core | None = None
) -> list[list[np.ndarray]]:
    """Export a library, compile its example program, and run it on several inputs one by one.

    Args:
        library: built for this machine, or for the core.
        runs: for each run the inputs, in order.
        folder: for the files.
        core: the emulated processor to run on; None for this one.

    Returns:
        For each run the outputs, in order.
    """
    library.export(folder / "model", format="c")
    program = compile_example(folder, "model", "cc" if core is None else core.machine.compiler)
    start = [] if core is None else [core.machine.emulator, "-cpu", core.name]
    return run_example([*start, program], library.signature, runs, folder)


def run_example(
    command: Sequence[str | Path],
    signature: Signature,
    runs: Sequence[Sequence[np.ndarray]],
    folder: Path,
) -> list[list[np.ndarray]]:
    """Run an export's example program on several inputs; return the outputs of each."""
    inputs = [folder / f"input{i}.bin" for i in range(len(signature.inputs))]
    outputs = [folder / f"output{i}.bin" for i in range(len(signature.outputs))]
    for path, arrays in zip(inputs, zip(*runs, strict=True), strict=True):
        path.write_bytes(b"".join(np.asarray(array, order="C").tobytes() for array in arrays))
    check_call([*command, *inputs, *outputs])
    results = [
        np.fromfile(path, info.dtype).reshape(len(runs), *info.shape)
        for path, info in zip(outputs, signature.outputs, strict=True)
    ]
    return [[array[i] for array in results] for i in range(len(runs))]


def compile_example(folder: Path, name: str, *compiler: str, main: str = "_main.c") -> Path:
    """Compile the example program of the export of this name, or another one, with this command."""
    sources = [folder / f"{name}{end}" for end in (main, ".c", ".o")]
    program = folder / name
    check_call([*compiler, *_FLAGS, "-static", "-o", program, *sources, "-lm"])
    return program


def check_call(words: Sequence[str | Path], folder: Path | None = None) -> str:
    """Run a command and return its output; the test fails if the command does."""
    line = [str(word) for word in words]
    done = subprocess.run(
        line, capture_output=True, text=True, check=False, cwd=folder, timeout=_TIME_LIMIT
    )
    assert done.returncode == 0, f"{' '.join(line)}: {done.returncode} {done.stderr}"
    return done.stdout
