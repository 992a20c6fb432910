"""tvm-qnn's own code for aarch64 under the emulator."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arm.counting import Counts, by_function, count, tool
from frontends.tflite import from_tflite
from qnn_ops.dialect.signature import Signature
from tvm_qnn.build import build
from tvm_qnn.io.command import call

Array = np.ndarray[Any, Any]

TRIPLE = "aarch64-linux-gnu"


@dataclass(frozen=True)
class Program:
    """A model, linked with the program that runs it.

    Attributes:
        path: the program.
        signature: the model's signature.
    """

    path: Path
    signature: Signature


def link(model: bytes, target: str, folder: Path) -> Program:
    """Compile a model for a target and link it, statically.

    Args:
        model: the contents of a .tflite file.
        target: a target of ``tvm_qnn.build``.
        folder: the folder for the files.
    """
    mod, params = from_tflite(model)
    library = build(mod, target, params)
    library.export(folder / "model", format="c")
    sources = [Path(__file__).with_name("count_main.c"), *folder.glob("model.[co]")]
    words: list[str | Path] = [
        "-O2",
        "-static",
        f"-I{folder}",
        "-o",
        folder / "model",
        *sources,
        "-lm",
    ]
    call([tool(f"{TRIPLE}-gcc"), *words])
    return Program(folder / "model", library.signature)


def count_ours(
    program: Program, core: str, plugin: Path, inputs: Sequence[Path], runs: int, *, profile: bool
) -> tuple[Counts, list[Array]]:
    """Count the instructions of the last run.

    Args:
        program: from ``link``.
        core: QEMU's name of the processor.
        plugin: from ``build_plugin``.
        inputs: a file of raw elements for each input.
        runs: number of runs.
        profile: whether to count the instructions of each block, too.

    Returns:
        The counts, and the outputs.
    """
    folder = program.path.parent
    files = [folder / f"ours{i}.bin" for i in range(len(program.signature.outputs))]
    emulator = [tool("qemu-aarch64"), "-cpu", core]
    counts = count(plugin, emulator, [program.path, *inputs, *files, str(runs)], profile=profile)
    outputs = [
        np.fromfile(file, info.dtype, prod(info.shape)).reshape(info.shape)
        for file, info in zip(files, program.signature.outputs, strict=True)
    ]
    return counts, outputs


def functions(program: Program, counts: Counts) -> dict[str, int]:
    """Return the instruction counts of a profile by function, the largest first."""
    return by_function(f"{TRIPLE}-nm", program.path, counts)
