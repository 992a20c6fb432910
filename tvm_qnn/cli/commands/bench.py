"""`tvm-qnn bench`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.options import NEW_FILE, ModelFile, input_option, progress, rounds_option
from tvm_qnn.cli.commands.outputs import check_file, json_option, print_json
from tvm_qnn.cli.commands.run import library_of, model_of
from tvm_qnn.io.text import to_json, visible
from tvm_qnn.timing import LITERT, OURS

if TYPE_CHECKING:
    from contextlib import ExitStack

    from tvm_qnn.library.library import Library
    from tvm_qnn.throughput.rates import Streams
    from tvm_qnn.timing import Timing

_MOST_ROUNDS = 10**7  # with this many, --seconds ends the rounds


@click.command()
@options.model_argument
@rounds_option(30)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Time runs for this long, in place of a number of runs.",
)
@input_option("A picture, a .npy or .npz file, as for `run`; by default, noise.")
@options.number_option("--threads", default=1, help_text="How many threads to use.")
@click.option(
    "--streams",
    type=click.IntRange(min=1),
    help="Count images a second, with this many runs at a time, each on one thread.",
)
@click.option(
    "--batch", type=click.IntRange(min=1), help="Count images a second, with this many in a run."
)
@click.option(
    "--memory", is_flag=True, help="Also print the memory that a process needs for the library."
)
@options.device_option
@options.target_option
@click.option("--csv", "csv_file", type=NEW_FILE, help="A file for every run's time, as CSV.")
@click.option("--trace", type=NEW_FILE, help="A .json file for every run, to open in Perfetto.")
@json_option
def bench(
    model: ModelFile,
    rounds: int,
    seconds: float | None,
    inputs: tuple[str, ...],
    threads: int,
    streams: int | None,
    batch: int | None,
    memory: bool,
    device: tuple[str, int] | None,
    target: str,
    csv_file: Path | None,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Time MODEL, a library or a model file.

    A model file is timed in turn with its framework on the same threads, if that is installed:
    LiteRT, ONNX Runtime or ExecuTorch. A single thread stays on one core. --streams and --batch
    count images a second, also of OpenVINO if it is installed. `make bench` in the project's
    repository compares with more programs. --device times the runs on a device, by the device's
    clock.
    """
    for path in filter(None, (csv_file, trace)):
        check_file(path)
    if (device or streams or batch) and (inputs or seconds):
        raise click.UsageError("--input and --seconds are of single runs on this machine")
    if device is not None:
        if streams is not None or batch is not None or threads != 1 or trace or memory:
            raise click.UsageError(
                "--streams, --batch, --threads, --memory and --trace are of runs on this machine, "
                "not of --device, where TVM_NUM_THREADS sets the threads"
            )
        _tell_times(model, {OURS: _on_device(model, device, target, rounds)}, {}, csv_file, as_json)
        return
    if target != "host":
        raise click.UsageError("--target is for --device: here, runs are of this machine")
    if streams is not None or batch is not None:
        if threads != 1:
            raise click.UsageError("--threads are of one run; with --streams or --batch it has one")
        if trace is not None or memory:
            raise click.UsageError(
                "--trace and --memory are of single runs, not of --streams or --batch"
            )
        _count_images(model, rounds, streams or 1, batch or 1, csv_file, as_json=as_json)
        return
    from contextlib import nullcontext
    from dataclasses import replace

    from tvm_qnn.cli.arguments import at_sizes, check_files, read_inputs
    from tvm_qnn.cli.peers import peers
    from tvm_qnn.io.images import noise
    from tvm_qnn.io.outputs import write_text
    from tvm_qnn.timing import Timing, alternate, one_core

    check_files(inputs)
    begin = time.perf_counter()
    library = library_of(replace(model, shapes={}) if model.is_library else model, threads)
    loading = time.perf_counter() - begin
    infos = at_sizes(library.inputs, model.shapes if model.is_library else {})
    given = read_inputs(inputs, infos) if inputs else {info.name: noise(info) for info in infos}
    arrays = [given[info.name] for info in infos]
    programs: dict[str, Callable[[], object]] = {OURS: library.prepare(*arrays)}
    found, absent = peers(model.file, arrays, threads)
    programs |= found
    with one_core() if threads == 1 else nullcontext():
        first = Timing.of(programs[OURS], 1)
        limits = (rounds,) if seconds is None else (_MOST_ROUNDS, seconds)
        timings = alternate(programs, *limits)
    if trace is not None:
        spans = {
            name: zip(each.starts, each.seconds, strict=True) for name, each in timings.items()
        }
        write_text(trace, chrome_trace(f"tvm-qnn bench {model.path.name}", spans))
    taken = _memory(library) if memory else None
    start = {"loading_seconds": loading, "first_run_seconds": first.median}
    _tell_times(model, timings, absent, csv_file, as_json, threads, taken, start)
    if not as_json and infos != list(library.inputs):
        for info in infos:
            click.echo(info.describe())


def _memory(library: Library) -> int:
    """Return the bytes that a process needs for a library."""
    from tvm_qnn.io.outputs import scratch
    from tvm_qnn.throughput.memory import memory_of

    with scratch() as folder:
        library.export(folder / "model.so")
        return memory_of(folder / "model.so")


def _tell_times(
    model: ModelFile,
    timings: Mapping[str, Timing],
    absent: Mapping[str, str],
    csv_file: Path | None,
    as_json: bool,
    threads: int | None = None,
    memory: int | None = None,
    start: Mapping[str, float] | None = None,
) -> None:
    """Print times, here of some threads or of a device, and bytes; write times to files."""
    from tvm_qnn.demo.report import times_table
    from tvm_qnn.io.terminal import Terminal
    from tvm_qnn.timing import milliseconds, warn_of_disturbance

    if csv_file is not None:
        _write_csv(csv_file, "seconds", {name: each.seconds for name, each in timings.items()})
    warn_of_disturbance(timings)
    if as_json:
        figures = {name: _figures(timing) for name, timing in timings.items()}
        if memory is not None:
            figures[OURS]["memory_bytes"] = memory
        figures[OURS].update(start or {})
        _print_json(figures, absent)
        return
    _tell(absent)
    runs = len(timings[OURS].seconds)
    where = "on the device" if threads is None else _counted(threads, "thread")
    Terminal().print(
        times_table(f"{model.path.name}, {where}, {runs} runs of each in turn", timings)
    )
    if start is not None:
        loading, first = map(milliseconds, start.values())
        what = "Loading" if model.is_library else "Import and compilation, or the cache,"
        click.echo(f"{what} took {loading} ms, the first run {first} ms.")
    if memory is not None:
        click.echo(
            f"A process that loads the library and runs it takes {memory / 1e6:.2f} MB for it."
        )


def _on_device(model: ModelFile, device: tuple[str, int], target: str, rounds: int) -> Timing:
    """Time a model on a device."""
    from tvm_qnn import remote
    from tvm_qnn.io.images import noise
    from tvm_qnn.io.progress import timed

    *_, make = model_of(model, None, target)
    library = make()
    with remote(*device) as session, timed(progress(), f"Run {model.path.name} on the device"):
        return session.load(library).benchmark(*map(noise, library.inputs), repeat=rounds)


def _write_csv(path: Path, figure: str, columns: Mapping[str, Sequence[float]]) -> None:
    """Write each run or turn of each program as a row."""
    import csv
    import io

    from tvm_qnn.io.outputs import write_text

    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("program", "run", figure))
    for name, values in columns.items():
        rows.writerows((name, run, value) for run, value in enumerate(values))
    write_text(path, text.getvalue())


def chrome_trace(title: str, spans: Mapping[str, Iterable[tuple[float, float]]]) -> str:
    """Return a trace for Perfetto as JSON: a row for each name, with a span for each of its runs.

    Args:
        title: the title of all rows.
        spans: for each name the start and the length of its runs, in seconds of the same clock.
    """
    rows = {name: list(runs) for name, runs in spans.items()}
    first = min((start for runs in rows.values() for start, _ in runs), default=0.0)
    events: list[dict[str, object]] = [_named("process_name", 0, title)]
    for row, (name, runs) in enumerate(rows.items(), 1):
        events.append(_named("thread_name", row, name))
        events += [
            {
                "name": name,
                "ph": "X",
                "pid": 1,
                "tid": row,
                "ts": 1e6 * (start - first),
                "dur": 1e6 * length,
                "args": {"run": run},
            }
            for run, (start, length) in enumerate(runs)
        ]
    return to_json({"traceEvents": events, "displayTimeUnit": "ns"})


def _named(kind: str, row: int, name: str) -> dict[str, object]:
    return {"name": kind, "ph": "M", "pid": 1, "tid": row, "args": {"name": name}}


def _count_images(
    model: ModelFile, rounds: int, streams: int, batch: int, csv_file: Path | None, *, as_json: bool
) -> None:
    """Count every program's images a second."""
    import statistics
    from contextlib import ExitStack

    from tvm_qnn.io.cores import on_cores
    from tvm_qnn.throughput.rates import in_turn

    with on_cores(streams), ExitStack() as stack:
        programs, absent = _streams(model, streams, batch, stack)
        rates = in_turn(programs, batch, rounds=rounds)
    if csv_file is not None:
        _write_csv(csv_file, "images_per_second", rates)
    if as_json:
        figures = {
            name: {
                "images_per_second": statistics.median(turns),
                "slowest_turn": min(turns),
                "fastest_turn": max(turns),
                "turns": len(turns),
                "streams": streams,
                "batch": batch,
            }
            for name, turns in rates.items()
        }
        _print_json(figures, absent)
        return
    _tell(absent)
    from tvm_qnn.demo.report import rates_table
    from tvm_qnn.io.terminal import Terminal

    count = len(rates[OURS])
    what = f"{_counted(streams, 'stream')}, {_counted(batch, 'image')} a run"
    title = f"{model.path.name}, {what}, {count} turns of each"
    Terminal().print(rates_table(title, rates))


def _streams(
    model: ModelFile, streams: int, batch: int, stack: ExitStack
) -> tuple[dict[str, Streams], dict[str, str]]:
    """Start the programs, ours first; return them, and by name the reasons for missing ones."""
    from dataclasses import replace

    from qnn_ops.errors import QnnError
    from tvm_qnn.cli.model_files import is_tflite
    from tvm_qnn.io.images import noise
    from tvm_qnn.io.progress import native_code_is_quiet
    from tvm_qnn.throughput.litert import start_litert
    from tvm_qnn.throughput.open_vino import OPENVINO, start_open_vino
    from tvm_qnn.throughput.ours import SharedLibrary
    from tvm_qnn.throughput.rates import with_batch

    if batch > 1 and model.is_library:
        raise click.UsageError("--batch is for model files: a library takes what it was made for")
    signature, _, make = model_of(model, 1)
    infos = with_batch(signature.inputs, batch)
    if batch > 1:
        shapes = {info.name: info.shape for info in infos}
        *_, make = model_of(replace(model, shapes=shapes), 1)
    inputs = [noise(info) for info in infos]
    programs: dict[str, Streams] = {
        OURS: stack.enter_context(SharedLibrary(make(), inputs, streams))
    }
    if not is_tflite(model.path):
        return programs, {}
    peers: dict[str, Callable[[], Streams]] = {
        LITERT: lambda: start_litert(model.file, batch, streams),
        OPENVINO: lambda: start_open_vino(model.file, batch, streams),
    }
    absent = {}
    for name, start in peers.items():
        try:
            with native_code_is_quiet():
                programs[name] = stack.enter_context(start())
        except QnnError as error:
            absent[name] = str(error)
    return programs, absent


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count > 1)}"


def _print_json(figures: Mapping[str, Mapping[str, Any]], absent: Mapping[str, str]) -> None:
    print_json({**figures, **{name: {"absent": reason} for name, reason in absent.items()}})


def _tell(absent: Mapping[str, str]) -> None:
    for name, reason in absent.items():
        click.echo(f"Without {name}: {visible(reason)}", err=True)


def _figures(timing: Timing) -> dict[str, Any]:
    return {
        "median_seconds": timing.median,
        "minimum_seconds": timing.minimum,
        "maximum_seconds": timing.maximum,
        "p90_seconds": timing.percentile(90),
        "p99_seconds": timing.percentile(99),
        "is_quiet": timing.is_quiet,
        "runs": len(timing.seconds),
    }
