"""One file of random graphs, compiled both ways and run, held against LiteRT."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from frontends.tflite import from_tflite
from tests.differential.graphs import Graph
from tests.differential.growth import grow
from tests.support.machine_code import write_objects
from tvm_qnn import build
from tvm_qnn.oracle import litert_runs

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Mismatch:
    """One output that differs.

    Attributes:
        graph: number of the graph in the file.
        target: whose code computed it.
        kernels: whether kernels computed it, or primitives.
        differing: how many of its elements differ.
        worst: by how many steps at most.
    """

    graph: int
    target: str
    kernels: bool
    differing: int
    worst: float


@dataclass(frozen=True)
class Trial:
    """What became of one file.

    Attributes:
        seed: that makes the same file again.
        operators: how many it has.
        mismatches: none, if all is well.
        content: the file.
    """

    seed: int
    operators: int
    mismatches: tuple[Mismatch, ...]
    content: bytes

    def save(self, folder: Path) -> Path:
        """Keep the file for a look."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"mismatch_{self.seed}.tflite"
        path.write_bytes(self.content)
        return path


def run_trial(
    seed: int,
    graphs: int = 20,
    targets: Sequence[str] = ("host",),
    ways: Sequence[bool] = (False, True),
) -> Trial:
    """Make a file of random graphs, and compare their outputs, in two runs one after the other.

    Args:
        seed: of everything that is random.
        graphs: how many stand in the file: compiling one file of many is faster than many.
        targets: what to compile for; what this processor cannot run is compiled only.
        ways: whether to use kernels, each time that the file is compiled.
    """
    file = Graph(np.random.default_rng(seed))
    for _ in range(graphs):
        grow(file)
    content = file.writer.finish(file.inputs, file.outputs)
    answers = [*litert_runs(content, [file.arrays] * 2)]  # in the second they know the first
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing may fall back to float32
        mod, params = from_tflite(content)
    mismatches: list[Mismatch] = []
    for target, kernels in product(targets, ways):
        # The checks of arguments are alike in every function, and half of the time to compile.
        with tvm.transform.PassContext(config={"tirx.disable_assert": True}):
            library = build(mod, target, params, kernels=kernels)
        if library.metadata.why_not_here() is not None:
            write_objects(library)
            continue
        for expected in answers:
            result: Any = library.run(*file.arrays)
            arrays = list(result.values()) if isinstance(result, dict) else [result]
            for number, index, array in zip(file.owners, file.outputs, arrays, strict=True):
                gap = _gap(array, expected[index])
                if gap:
                    mismatches.append(Mismatch(number, target, kernels, *gap))
    return Trial(seed, len(file.codes), tuple(mismatches), content)


def _gap(array: Array, wanted: Array) -> tuple[int, float] | None:
    """Tell how many elements differ and by how much; None if they are equal."""
    if array.dtype != wanted.dtype or array.shape != wanted.shape:
        return wanted.size, 256
    if np.array_equal(array, wanted):
        return None
    gap = np.abs(array.astype(np.float64) - wanted.astype(np.float64))
    return int(np.count_nonzero(gap)), float(gap.max())
