"""Times models with an open size, in turn with a build for each size.

Both run on one core, and must give equal results::

    python -m benchmarks.bench_open_sizes
    python -m benchmarks.bench_open_sizes --model dense --width 256 --size 1 --size 64
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np
import tvm
from tvm import tirx

import tvm_qnn as qnn
from benchmarks.open_models import dense, encoder, pictures
from benchmarks.report import as_table, terminal
from tvm_qnn.timing import alternate, milliseconds, one_core

_HEADER = ["size", "fixed, ms", "open, ms", "ratio"]
_MODELS: dict[str, tuple[Callable[[Any, int], tvm.IRModule], int, tuple[int, ...]]] = {
    "dense": (dense, 768, (1, 2, 3, 16, 128, 1024, 4096)),
    "encoder": (encoder, 256, (1, 16, 128, 512)),
    "mobilenet_v2": (pictures("mobilenet_v2"), 0, (1, 4, 16)),
    "resnet50": (pictures("resnet50"), 0, (1, 4, 16)),
}
"""Models by name: the function that makes a model, its width and its sizes."""


@click.command()
@click.option("--model", "names", type=click.Choice(list(_MODELS)), multiple=True)
@click.option("--width", type=click.IntRange(min=4), help="Of dense layers.")
@click.option("--size", "sizes", multiple=True, type=click.IntRange(min=1))
@click.option("--rounds", default=200, show_default=True, type=click.IntRange(min=1))
@click.option("--seconds", default=5.0, show_default=True, help="For one size.")
def main(
    names: Sequence[str], width: int | None, sizes: Sequence[int], rounds: int, seconds: float
) -> None:
    """Time int8 models with weights from a seed: all models, or the named ones."""
    console = terminal()
    for name in names or _MODELS:
        make, usual, some = _MODELS[name]
        _built(make(1, width or usual))  # the first build takes longer
        opened, open_seconds = _built(make(tirx.Var("size", "int64"), width or usual))
        rows, fixed_seconds = [], []
        for size in sizes or some:
            fixed, taken = _built(make(size, width or usual))
            rows.append([str(size), *_row(fixed, opened, rounds, seconds)])
            fixed_seconds.append(taken)
        console.print(as_table(_HEADER, rows, f"{name}, int8"))
        middle = sorted(fixed_seconds)[len(fixed_seconds) // 2]
        console.print(f"processor seconds of a build: {middle:.2f} fixed, {open_seconds:.2f} open")


def _row(fixed: qnn.Library, opened: qnn.Library, rounds: int, seconds: float) -> list[str]:
    (info,) = fixed.inputs
    data = np.random.default_rng(0).integers(-128, 128, info.shape).astype(info.dtype)
    if not np.array_equal(fixed.run(data), opened.run(data)):
        raise click.ClickException(f"the results for shape {info.shape} differ")
    libraries = {"fixed": fixed.prepare(data), "open": opened.prepare(data)}
    with one_core():
        times = alternate(libraries, rounds, seconds)
    medians = [times[name].median for name in libraries]
    return [*map(milliseconds, medians), f"{medians[1] / medians[0]:.2f}"]


def _built(mod: tvm.IRModule) -> tuple[qnn.Library, float]:
    """Build a model; return it and the CPU seconds of the build."""
    start = time.process_time()
    library = qnn.build(mod, "host", num_threads=1, cache=False)
    return library, time.process_time() - start


if __name__ == "__main__":
    main()
