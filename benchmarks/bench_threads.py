"""Times networks on one and two threads, and models their time on more.

On two cores::

    python -m benchmarks.bench_threads
    python -m benchmarks.bench_threads mobilenet_v2:uint8 my_model.tflite

The model of the time on n threads is ``alone + shared / n + barriers * launch(n)``:

- Barriers are counted: the loops that threads share, for each call of a function. After each loop
  all threads wait for the last one. Loops inside a model's own loops count once.
- A launch on two threads is measured with a function that does nothing. It grows with each thread
  that must be woken: ``launch(n) = (n - 1) * launch(2)``.
- ``alone`` and ``shared`` follow from the times on one and on two threads.

The column "of the peak" has the speed on one thread, divided by the measured peak of the
instructions that multiply. The last column is the time in which two threads read as many bytes as
the weights have, at the rate at which they read a tensor of 16 MiB again and again.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import numpy as np
import tvm
from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

import tvm_qnn as qnn
from benchmarks import goals
from benchmarks.bench_peers import DEFAULT
from benchmarks.machine import setting
from benchmarks.models import models
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, markdown, markdown_table, terminal
from frontends.formats import read_model
from legalize import lower
from legalize.loop_functions import nodes_in
from tvm_qnn.io.images import noise
from tvm_qnn.io.outputs import write_text
from tvm_qnn.library.threads import call_in_threads
from tvm_qnn.profile.layers import profile
from tvm_qnn.profile.peak import TILES
from tvm_qnn.timing import alternate, milliseconds

MORE = (4, 8)
"""The numbers of threads whose time is modelled."""

_HEADER = [
    *("model", "1 thread", "of the peak", "2 threads", "ratio", "barriers", "weights, MB"),
    *(f"model: {count}" for count in MORE),
    "weights read",
]
_TITLE = "milliseconds, on more than two threads by the model"
_LAUNCHES = 1000
_HALF = 1 << 23
"""The bytes that each thread reads: as many as half the weights of a large network."""


@click.command()
@click.argument("names", nargs=-1)
@click.option("--rounds", default=200, show_default=True, type=click.IntRange(min=1))
@click.option("--seconds", default=10.0, show_default=True, help="For one model.")
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for threads.md.",
)
def main(names: Sequence[str], rounds: int, seconds: float, output: Path) -> None:
    """Time NAMES: files of models, or networks of the zoo; by default the classifiers."""
    console = terminal()
    launch, bandwidth = _launch(rounds), _bandwidth(rounds)
    console.print(
        f"two threads begin a loop in {1e6 * launch:.2f} µs, and read {bandwidth / 1e9:.1f} GB/s"
    )
    rows = []
    for name, contents in models(names or DEFAULT):
        imported = read_model(contents).convert()
        mod, params = imported.mod, imported.params
        libraries = {
            str(count): qnn.build(mod, "host", params, num_threads=count, cache=False)
            for count in (1, 2)
        }
        data = [noise(info) for info in libraries["1"].inputs]
        runs = {count: library.prepare(*data) for count, library in libraries.items()}
        times = alternate(runs, rounds, seconds)
        one, two = times["1"].median, times["2"].median
        barriers, weights = counted(tvm.relax.transform.BindParams("main", params)(mod))
        more = [on_threads(count, one, two, barriers, launch) for count in MORE]
        rows.append(
            [
                *(name, milliseconds(one), _share(contents), milliseconds(two)),
                goals.beside(two / one, goals.TWO_THREADS),
                *(str(barriers), f"{weights / 1e6:.1f}", *map(milliseconds, more)),
                milliseconds(weights / bandwidth),
            ]
        )
    console.print(as_table(_HEADER, rows, _TITLE))
    output.mkdir(parents=True, exist_ok=True)
    write_text(
        output / "threads.md", markdown(setting_lines(setting(), 2), markdown_table(_HEADER, rows))
    )


def _share(model: bytes) -> str:
    """Return the text of a model's share of the peak, on AMX's tiles with its goal."""
    found = profile(model)
    if found.share is None:
        return "–"
    return goals.beside(found.share, goals.SHARE_OF_TILES if TILES in found.peaks else None)


def on_threads(count: int, one: float, two: float, barriers: int, launch: float) -> float:
    """Model the seconds on a number of threads.

    Args:
        count: the number of threads.
        one: the seconds on one thread.
        two: the seconds on two threads.
        barriers: how often threads wait for each other.
        launch: the seconds of a launch on two threads.
    """
    # one = alone + shared; two = alone + shared / 2 + barriers · launch
    shared = min(2 * max(one - two + barriers * launch, 0.0), one)
    return one - shared + shared / count + barriers * launch * (count - 1)


def counted(mod: tvm.IRModule) -> tuple[int, int]:
    """Count the barriers of a run, and the bytes of the constants that it reads."""
    target = qnn.host_target()
    lowered = lower(mod, target)
    shared = {
        variable: _shared_loops(function)
        for variable, function in lowered.functions_items()
        if isinstance(function, tirx.PrimFunc)
    }
    barriers = size = 0

    def see(expr: relax.Expr) -> None:
        nonlocal barriers, size
        if isinstance(expr, relax.Call) and expr.args:
            barriers += shared.get(expr.args[0], 0)
        if isinstance(expr, tvm.ir.GenericConst):
            size += expr.value.numpy().nbytes

    relax.analysis.post_order_visit(lowered["main"], see)
    return barriers, size


def _shared_loops(function: tirx.PrimFunc) -> int:
    kinds = [loop.kind for loop in nodes_in(function.body, tirx.For)]
    return kinds.count(tirx.ForKind.PARALLEL)


def _launch(rounds: int) -> float:
    """Measure the seconds that a shared loop takes longer on two threads if it does nothing."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("main")
        target = T.arg("target", T.buffer((2,), "int32"))
        with T.parallel(2) as task:
            T.buffer_store(target, 1, [task])
    function = tvm.tirx.build(builder.get(), target=qnn.host_target())["main"]
    given = tvm.runtime.tensor(np.zeros(2, np.int32))

    def launches(count: int) -> Callable[[], object]:
        return lambda: [call_in_threads(count, function, given) for _ in range(_LAUNCHES)]

    times = alternate({"1": launches(1), "2": launches(2)}, rounds)
    return max(times["2"].median - times["1"].median, 0.0) / _LAUNCHES


def _bandwidth(rounds: int) -> float:
    """Measure the bytes a second that two threads read."""
    halves = np.ones((2, _HALF // 8), np.int64)
    with ThreadPoolExecutor(2) as pool:
        times = alternate({"read": lambda: list(pool.map(np.bitwise_or.reduce, halves))}, rounds)
    return halves.nbytes / times["read"].median


if __name__ == "__main__":
    main()
