"""Measures how long tvm-qnn and its peers take to turn a model into code that is ready to run.

python -m benchmarks.bench_builds                          # the models of the README, transformers
python -m benchmarks.bench_builds --warm mobilenet_v2:uint8 my_model.tflite

Each build runs in a fresh process, whose Python imports do not count. It is tvm-qnn's import of the
model and ``build``, OpenVINO's reading and compiling, or ONNX Runtime's creation of a session.
"""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from benchmarks import goals
from benchmarks.bench_peers import DEFAULT as CLASSIFIERS
from benchmarks.bench_peers import packages
from benchmarks.machine import setting
from benchmarks.models import models, suffix_of
from benchmarks.peers import OURS, PEERS
from benchmarks.process import Built, PeerError, build_model, convert_model
from benchmarks.race_report import absent_line, setting_lines
from benchmarks.report import as_json, as_table, markdown, markdown_table, terminal
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import write_text

DEFAULT = (
    *CLASSIFIERS,
    *("mobilenet_v3:int8_per_axis", "efficientnet_lite0:int8_per_axis", "unet:int8_per_axis"),
    *("yolov8n:int8_per_axis", "ssd_mobilenet_v2:int8_per_axis", "movenet:int8_per_axis"),
    *("mobilebert:int8_per_axis", "deit_tiny:int8_per_axis", "ds_cnn_stream:int8_per_axis"),
)

CORES = 2
"""The number of cores of the builds that are timed by the wall clock."""

_HEAD = ["program", "processor, s", f"wall on {CORES} cores, s", "ratio"]
_WARM = ["warm: processor, s", "wall, s", "ratio"]


@dataclass(frozen=True)
class Builds:
    """The builds of one model by one program.

    Attributes:
        model: the model's name.
        peer: the program's key in ``PEERS``.
        single: builds on one core, each with an empty store.
        several: builds on ``CORES`` cores, each with an empty store.
        warm_single: builds on one core, each with the store of the build before it.
        warm_several: builds on ``CORES`` cores, each with the store of the build before it.
        reason: why there are no builds, if there are none.
    """

    model: str
    peer: str
    single: tuple[Built, ...] = ()
    several: tuple[Built, ...] = ()
    warm_single: tuple[Built, ...] = ()
    warm_several: tuple[Built, ...] = ()
    reason: str = ""

    @property
    def processor(self) -> float:
        """The median of the builds' CPU seconds."""
        return statistics.median(built.processor_seconds for built in self.single)


def measure(name: str, model: Path, peer: str, repeat: int, *, warm: bool) -> Builds:
    """Measure the builds of one model by one program.

    Args:
        name: the model's name.
        model: the model's file.
        peer: the program's key in ``PEERS``.
        repeat: number of builds of each kind.
        warm: whether tvm-qnn also builds with the store of the build before.
    """
    if missing := PEERS[peer].missing():
        return Builds(name, peer, reason=f"not installed: {', '.join(missing)}")
    found: dict[tuple[int, bool], list[Built]] = {}
    try:
        with tempfile.TemporaryDirectory() as temporary:
            file = convert_model(peer, model, Path(temporary))
            for threads in [1, CORES] * repeat:
                with tempfile.TemporaryDirectory() as store:
                    for again in [False, True] if warm and peer == OURS else [False]:
                        built = build_model(peer, file, threads, Path(store))
                        found.setdefault((threads, again), []).append(built)
    except PeerError as error:
        return Builds(name, peer, reason=str(error))
    return Builds(
        name,
        peer,
        single=tuple(found[1, False]),
        several=tuple(found[CORES, False]),
        warm_single=tuple(found.get((1, True), ())),
        warm_several=tuple(found.get((CORES, True), ())),
    )


def rows(builds: Sequence[Builds], *, warm: bool) -> list[list[str]]:
    """Return the rows of one model's table; a ratio is tvm-qnn's time over the program's."""
    built = [item for item in builds if item.single]
    ours = next((item for item in built if item.peer == OURS), None)
    found = []
    for item in built:
        of_peer = None if item.peer == OURS else item.processor
        cold, again = (goals.COLD, goals.WARM) if item.peer == "openvino" else (None, None)
        row = [PEERS[item.peer].name, *_cells(item.single, item.several)]
        row.append(_ratio(ours.single if ours else (), of_peer, cold))
        if warm:
            row += _cells(item.warm_single, item.warm_several)
            row.append(_ratio(ours.warm_single if ours else (), of_peer, again))
        found.append(row)
    return found


def _cells(single: Sequence[Built], several: Sequence[Built]) -> list[str]:
    if not single or not several:
        return ["–", "–"]
    return [
        f"{statistics.median(built.processor_seconds for built in single):.2f}",
        f"{statistics.median(built.seconds for built in several):.2f}",
    ]


def _ratio(ours: Sequence[Built], theirs: float | None, goal: float | None) -> str:
    if not ours or not theirs:
        return ""
    seconds = statistics.median(built.processor_seconds for built in ours)
    return goals.beside(seconds / theirs, goal)


@click.command()
@click.argument("arguments", metavar="[MODEL]...", nargs=-1)
@click.option("--repeat", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--warm", is_flag=True, help="Build again with the cache of a build before.")
@click.option(
    "--peers",
    multiple=True,
    default=(OURS, "openvino", "onnxruntime"),
    show_default=True,
    type=click.Choice(list(PEERS)),
    help="Only these; may be given several times.",
)
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for builds.md and builds.json.",
)
def main(
    arguments: tuple[str, ...], repeat: int, warm: bool, peers: tuple[str, ...], output: Path
) -> None:
    """Measure builds of MODELs: .tflite or .onnx files, or networks of the zoo."""
    console = terminal()
    about, found = setting(packages(peers)), []
    head, parts = [*_HEAD, *(_WARM if warm else [])], []
    try:
        for name, model in models(arguments or DEFAULT):
            of_model = []
            with tempfile.TemporaryDirectory() as temporary, console.status(name) as status:
                path = Path(temporary) / f"model{suffix_of(model)}"
                path.write_bytes(model)
                for peer in peers:
                    status.update(f"{name}: {PEERS[peer].name}")
                    of_model.append(measure(name, path, peer, repeat, warm=warm))
            body = rows(of_model, warm=warm)
            absent = [absent_line(item.peer, item.reason) for item in of_model if item.reason]
            console.print(as_table(head, body, name))
            for line in absent:
                console.print(line, markup=False)
            parts += [f"## {name}", markdown_table(head, body), *absent]
            found += of_model
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    told = setting_lines(about, CORES)
    output.mkdir(parents=True, exist_ok=True)
    write_text(output / "builds.md", markdown(told, *parts))
    figures = as_json(about, cores=CORES, builds=[asdict(item) for item in found])
    write_text(output / "builds.json", figures)
    console.print(f"Written: builds.md and builds.json in {output}")


if __name__ == "__main__":
    main()
