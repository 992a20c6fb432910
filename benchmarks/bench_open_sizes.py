"""Times a dense layer whose number of rows is open, in turn with a build for each number.

On one core, both checked for equal results::

    python -m benchmarks.bench_open_sizes
    python -m benchmarks.bench_open_sizes --width 256 --rows 1 --rows 64
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from rich.console import Console
from tvm import relax, tirx

import tvm_qnn as qnn
from benchmarks.report import as_table
from qnn_ops import quantized_dense
from tvm_qnn.timing import alternate, milliseconds, one_core

_HEADER = ["rows", "number fixed, ms", "number open, ms", "ratio"]
_ROWS = (1, 2, 3, 16, 128, 1024, 4096)


@click.command()
@click.option("--width", default=768, show_default=True, type=click.IntRange(min=1))
@click.option("--rows", "counts", default=_ROWS, multiple=True, type=click.IntRange(min=1))
@click.option("--rounds", default=200, show_default=True, type=click.IntRange(min=1))
@click.option("--seconds", default=5.0, show_default=True, help="For one number of rows.")
def main(width: int, counts: Sequence[int], rounds: int, seconds: float) -> None:
    """Time an int8 layer of WIDTH × WIDTH, with weights from a seed."""
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 127, (width, width), dtype=np.int8)
    _built(counts[0], weights)  # what only the first build takes
    open_library, open_seconds = _built(tirx.Var("rows", "int64"), weights)
    rows, fixed_seconds = [], []
    with one_core():
        for count in counts:
            fixed, taken = _built(count, weights)
            data = rng.integers(-128, 127, (count, width), dtype=np.int8)
            if not np.array_equal(fixed.run(data), open_library.run(data)):
                raise click.ClickException(f"the results for {count} rows differ")
            libraries = {"fixed": fixed.prepare(data), "open": open_library.prepare(data)}
            times = alternate(libraries, rounds, seconds)
            medians = [times[name].median for name in libraries]
            ratio = f"{medians[1] / medians[0]:.2f}"
            rows.append([str(count), *map(milliseconds, medians), ratio])
            fixed_seconds.append(taken)
    console = Console(highlight=False)
    console.print(as_table(_HEADER, rows, f"int8, {width} × {width}"))
    middle = sorted(fixed_seconds)[len(fixed_seconds) // 2]
    console.print(f"processor seconds of a build: {middle:.2f} fixed, {open_seconds:.2f} open")


def _built(rows: Any, weights: np.ndarray[Any, Any]) -> tuple[qnn.Library, float]:
    """Build a layer; return the processor seconds that it took, too."""
    builder = relax.BlockBuilder()
    data = relax.Var("data", relax.TensorType((rows, weights.shape[1]), "int8"))
    with builder.function("main", [data]):
        layer = quantized_dense(
            *(data, relax.const(weights), 0.05, 3, 0.01, 0),
            output_scale=1.0,
            output_zero_point=1,
            out_dtype="int8",
        )
        builder.emit_func_output(builder.emit(layer))
    start = time.process_time()
    library = qnn.build(builder.get(), "host", num_threads=1, cache=False)
    return library, time.process_time() - start


if __name__ == "__main__":
    main()
