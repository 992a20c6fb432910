"""Measures what tvm-qnn and its peers need, apart from the time of a run.

python -m benchmarks.bench_footprint                            # Inception V3
python -m benchmarks.bench_footprint mobilenet_v2:int8 my_model.tflite

The figures are memory, the size of the deployed file, the time from loading to the first result,
and the time to import and build. Each is measured in a fresh process.
"""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from benchmarks.bench_peers import packages
from benchmarks.chart import save_bars
from benchmarks.machine import Setting, setting
from benchmarks.models import inputs_of, models, suffix_of
from benchmarks.peers import PEERS
from benchmarks.process import (
    Compiled,
    Conditions,
    Loaded,
    PeerError,
    Running,
    compile_model,
    save_inputs,
)
from benchmarks.race_report import absent_line, setting_lines
from benchmarks.report import as_json, as_table, markdown, markdown_table, terminal
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import write_text

DEFAULT = ("inception_v3:int8_per_axis",)

HEAD = [
    "program",
    "import",
    "build",
    "again",
    "file MB",
    "import to run",
    "first result",
    "peak MB",
]


@dataclass(frozen=True)
class Footprint:
    """The needs of one program for one model.

    Attributes:
        model: the model's name.
        peer: the program's key in ``PEERS``.
        compiled: the file that the program makes before, in a process of its own, on all cores.
        again: the same file, made once more in another process, if the program has a cache.
        makes_file: whether the program makes a file; otherwise it loads the .tflite file.
        loads: the figures of each process that loaded the model and ran it.
        reason: why there are no figures, if there are none.
    """

    model: str
    peer: str
    compiled: Compiled | None = None
    again: Compiled | None = None
    makes_file: bool = False
    loads: tuple[Loaded, ...] = ()
    reason: str = ""

    def median(self, figure: Callable[[Loaded], float | None]) -> float | None:
        """Return the median of a figure of ``loads``."""
        found = [value for load in self.loads if (value := figure(load)) is not None]
        return statistics.median(found) if found else None


def measure(
    name: str, model: Path, peer: str, folder: Path, conditions: Conditions, repeat: int
) -> Footprint:
    """Measure one program on one model.

    Args:
        name: the model's name.
        model: the model's .tflite file.
        peer: the program's key in ``PEERS``.
        folder: the folder for temporary files.
        conditions: the conditions of its runs; builds may take all cores.
        repeat: number of processes that load the model and run it.
    """
    if missing := PEERS[peer].missing():
        return Footprint(name, peer, reason=f"not installed: {', '.join(missing)}")
    inputs = save_inputs(folder, inputs_of(model.read_bytes()))
    loads = []
    try:
        compiled = compile_model(peer, model, folder)
        again = compile_model(peer, model, folder) if PEERS[peer].keeps_builds else None
        for _ in range(repeat):
            with Running(peer, compiled.file, inputs, folder, conditions) as running:
                loads.append(running.loaded)
    except PeerError as error:
        return Footprint(name, peer, reason=str(error))
    return Footprint(name, peer, compiled, again, compiled.file != str(model), tuple(loads))


def rows(footprints: Sequence[Footprint]) -> list[list[str]]:
    """Return the rows of one model's table, one for each program that ran."""
    return [_row(item, item.compiled) for item in footprints if item.compiled is not None]


def absent_lines(footprints: Sequence[Footprint]) -> list[str]:
    """List the programs that did not run, and why."""
    return [absent_line(item.peer, item.reason) for item in footprints if item.reason]


def as_markdown(footprints: Sequence[Footprint], about: Setting, threads: int) -> str:
    """Write a table for each model."""
    parts = []
    for model in dict.fromkeys(item.model for item in footprints):
        of_model = [item for item in footprints if item.model == model]
        parts += [
            f"## {model} (times in seconds)",
            markdown_table(HEAD, rows(of_model)),
            *absent_lines(of_model),
        ]
    return markdown(setting_lines(about, threads), *parts)


def save_charts(folder: Path, footprints: Sequence[Footprint], about: Setting) -> None:
    """Draw memory and time to the first result."""
    charts: dict[str, tuple[str, Callable[[Loaded], float | None]]] = {
        "memory": ("peak memory, MB", lambda load: load.peak_megabytes),
        "first_result": ("loading to first result, s", lambda load: load.first_result_seconds),
    }
    groups = list(dict.fromkeys(item.model for item in footprints))
    peers = list(dict.fromkeys(item.peer for item in footprints if item.loads))
    for name, (unit, figure) in charts.items():
        found = {(item.model, item.peer): item.median(figure) for item in footprints}
        series = {PEERS[peer].name: [found.get((m, peer)) for m in groups] for peer in peers}
        labels = {name: [_number(value) for value in values] for name, values in series.items()}
        path = folder / f"footprint_{name}.png"
        save_bars(path, f"{about.processor}, {about.date}", unit, groups, series, labels)


def _row(item: Footprint, compiled: Compiled) -> list[str]:
    again = item.again.seconds if item.again else None
    built = [compiled.import_seconds, compiled.seconds, again] if item.makes_file else [None] * 3
    loaded = [
        item.median(lambda load: load.import_seconds),
        item.median(lambda load: load.first_result_seconds),
        item.median(lambda load: load.peak_megabytes),
    ]
    return [PEERS[item.peer].name, *map(_number, [*built, compiled.megabytes, *loaded])]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.1f}"


@click.command()
@click.argument("arguments", metavar="[MODEL]...", nargs=-1)
@click.option("--threads", default=1, show_default=True, type=click.IntRange(min=1))
@click.option("--repeat", default=3, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--peers",
    multiple=True,
    type=click.Choice(list(PEERS)),
    help="Only these; may be given several times.  [default: all]",
)
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for footprint.md, footprint.json and two charts.",
)
def main(
    arguments: tuple[str, ...], threads: int, repeat: int, peers: tuple[str, ...], output: Path
) -> None:
    """Measure memory, size, loading and building of MODELs: .tflite files, or networks of the zoo.

    "build" is the time before deployment (none for programs that load the .tflite file itself), and
    "again" the time of a second build. "file" is the size of the deployed file. "first result"
    begins when all packages are imported.
    """
    console = terminal()
    chosen = list(peers or PEERS)
    about, conditions = setting(packages(chosen)), Conditions(threads)
    found: list[Footprint] = []
    try:
        for name, model in models(arguments or DEFAULT):
            of_model = []
            with tempfile.TemporaryDirectory() as temporary, console.status(name) as status:
                path = Path(temporary) / f"model{suffix_of(model)}"
                path.write_bytes(model)
                for peer in chosen:
                    status.update(f"{name}: {PEERS[peer].name}")
                    folder = Path(temporary)
                    of_model.append(measure(name, path, peer, folder, conditions, repeat))
            console.print(as_table(HEAD, rows(of_model), f"{name} (times in seconds)"))
            for line in absent_lines(of_model):
                console.print(line, markup=False)
            found += of_model
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    for line in setting_lines(about, threads):
        console.print(line)
    output.mkdir(parents=True, exist_ok=True)
    write_text(output / "footprint.md", as_markdown(found, about, threads))
    figures = as_json(about, threads=threads, footprints=[asdict(item) for item in found])
    write_text(output / "footprint.json", figures)
    save_charts(output, found, about)
    console.print(f"Written: footprint.md, footprint.json and two charts in {output}")


if __name__ == "__main__":
    main()
