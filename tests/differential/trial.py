"""One file of random graphs, compiled both ways and run, held against its own framework."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from frontends.errors import UnsupportedOperatorError
from qnn_ops.arrays import Array
from qnn_ops.dialect.sizes import OpenSizeError
from tests.differential.file import File, RefusedError
from tests.differential.open_file import open_file
from tests.differential.tflite_file import tflite_file
from tests.support.machine_code import write_objects
from tvm_qnn import build


def _onnx_file(seed: int, graphs: int) -> File:
    from tests.differential.onnx.file import onnx_file  # onnx need not be installed

    return onnx_file(seed, graphs)


def _torch_file(seed: int, graphs: int) -> File:
    from tests.differential.torch.file import torch_file  # nor need torch

    return torch_file(seed, graphs)


def _open_onnx_file(seed: int, graphs: int) -> File:
    from tests.differential.onnx.open_file import open_file

    return open_file(seed, graphs)


FILES: dict[str, Callable[[int, int], File]] = {
    "tflite": tflite_file,
    "tflite-open": open_file,
    "onnx": _onnx_file,
    "onnx-open": _open_onnx_file,
    "torch": _torch_file,
}
"""What draws a file of so many graphs from a seed, by format."""


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
        suffix: of its name.
    """

    seed: int
    operators: int
    mismatches: tuple[Mismatch, ...]
    content: bytes
    suffix: str = "tflite"

    def save(self, folder: Path) -> Path:
        """Keep the file for a look."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"mismatch_{self.seed}.{self.suffix}"
        path.write_bytes(self.content)
        return path


def run_trial(
    seed: int,
    graphs: int = 20,
    targets: Sequence[str] = ("host",),
    ways: Sequence[bool] = (False, True),
    format: str = "tflite",
) -> Trial:
    """Make a file of random graphs, and compare their outputs in its runs, one after the other.

    Args:
        seed: of everything that is random.
        graphs: how many the file has: compiling one file of many graphs is faster than many files.
        targets: what to compile for; code that this processor cannot run is only compiled.
        ways: whether to use kernels, each time that the file is compiled.
        format: of ``FILES``.

    Raises:
        RefusedError: the framework refuses the file, or its open sizes need numbers.
    """
    file = FILES[format](seed, graphs)
    try:
        return _tried(file, seed, targets, ways, format)
    except (OpenSizeError, UnsupportedOperatorError) as error:
        if not file.runs:
            raise
        raise RefusedError(str(error)) from error


def _tried(
    file: File, seed: int, targets: Sequence[str], ways: Sequence[bool], format: str
) -> Trial:
    mod, params = file.load()
    mismatches: list[Mismatch] = []
    for target, kernels in product(targets, ways):
        # The checks of arguments are alike in every function, and half of the time to compile.
        with tvm.transform.PassContext(config={"tirx.disable_assert": True}):
            library = build(mod, target, params, kernels=kernels)
        if library.metadata.why_not_here() is not None:
            write_objects(library)
            continue
        for given, expected in zip_longest(file.runs, file.answers, fillvalue=file.arrays):
            result: Any = library.run(*given)
            arrays = list(result.values()) if isinstance(result, dict) else [result]
            bounds = file.bounds or [0.0] * len(arrays)
            for number, wanted, array, bound in zip(
                file.owners, expected, arrays, bounds, strict=True
            ):
                gap = _gap(array, wanted, bound)
                if gap:
                    mismatches.append(Mismatch(number, target, kernels, *gap))
    suffix = format.partition("-")[0]
    return Trial(seed, file.operators, tuple(mismatches), file.content, suffix)


def _gap(array: Array, wanted: Array, bound: float) -> tuple[int, float] | None:
    """Tell how many elements differ and by how much; None if they are as near as they must be."""
    if array.dtype != wanted.dtype or array.shape != wanted.shape:
        return wanted.size, 256
    is_real = array.dtype.kind == "f"
    if np.array_equal(array, wanted, equal_nan=is_real):
        return None
    if bound and np.allclose(array, wanted, rtol=0, atol=bound, equal_nan=True):
        return None
    gap = np.abs(array.astype(np.float64) - wanted.astype(np.float64))
    return int(np.count_nonzero(gap)), float(gap.max())
