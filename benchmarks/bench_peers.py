"""Times tvm-qnn and other programs on the same quantized models, in turn.

python -m benchmarks.bench_peers                                # models of the zoo
python -m benchmarks.bench_peers mobilenet_v2:int8 my_model.tflite --threads 2
python -m benchmarks.bench_peers onnx/resnet50:u8s8 my_model.onnx
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.chart import save_bars
from benchmarks.machine import PACKAGES, setting
from benchmarks.models import inputs_of, models, suffix_of
from benchmarks.peers import OURS, PEERS
from benchmarks.process import Conditions
from benchmarks.race import Race, race
from benchmarks.race_report import (
    CLOCK_NOTES,
    Report,
    absent_lines,
    as_markdown,
    detail_rows,
    figures,
    keys_of,
    milliseconds,
    setting_lines,
)
from benchmarks.report import as_table, terminal
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import write_text

DEFAULT = (
    *("inception_v3:int8_per_axis", "inception_v3:uint8", "resnet50:int8_per_axis"),
    *("mobilenet_v1:int8_per_axis", "mobilenet_v1:uint8"),
    *("mobilenet_v2:int8_per_axis", "mobilenet_v2:uint8"),
    *("mobilenet_v2:float32", "resnet50:float32", "onnx/mobilenet_v2:float32"),
    *("onnx/resnet50:float32", "onnx/squeezenet:float32", "onnx/bilstm:float32"),
)

TITLE = "median ms{}; ratio: time of tvm-qnn divided by the program's"


def packages(peers: Sequence[str]) -> list[str]:
    """List the packages whose versions are reported."""
    return list(dict.fromkeys([*PACKAGES, *(PEERS[peer].distribution for peer in peers)]))


def save_chart(path: Path, report: Report) -> None:
    """Draw each program's time relative to tvm-qnn's."""
    races = [race for race in report.races if OURS in race.lanes]
    if not races:
        return
    names = {key: _name(races, key) for key in keys_of(races)}
    series = {name: [_relative(race, key) for race in races] for key, name in names.items()}
    labels = {name: [_label(race, key) for race in races] for key, name in names.items()}
    save_bars(
        path,
        f"{report.setting.processor}, threads: {report.threads}, {report.setting.date}",
        "time relative to tvm-qnn; at the bars: milliseconds",
        [race.model for race in races],
        series,
        labels,
        logarithmic=True,
    )


def _name(races: Sequence[Race], key: str) -> str:
    return next(race.lanes[key].name for race in races if key in race.lanes)


def _relative(race: Race, key: str) -> float | None:
    ratio = race.ratio(key) if key in race.lanes else None
    return None if ratio is None else 1 / ratio


def _label(race: Race, key: str) -> str:
    return milliseconds(race.lanes[key].median) if key in race.lanes else ""


@click.command()
@click.argument("arguments", metavar="[MODEL]...", nargs=-1)
@click.option("--threads", default=1, show_default=True, type=click.IntRange(min=1))
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--seconds", default=20.0, show_default=True, help="For one model; compiling excluded."
)
@click.option(
    "--peers",
    multiple=True,
    type=click.Choice(list(PEERS)),
    help="Only these; may be given several times.  [default: all]",
)
@click.option(
    "--amx",
    default="both",
    show_default=True,
    type=click.Choice(["with", "without", "both"]),
    help="Whether programs may use AMX; both: those that do are timed a second time, without.",
)
@click.option(
    "--clock",
    default="wall",
    show_default=True,
    type=click.Choice(list(CLOCK_NOTES)),
    help="cpu: the processor's time that a program gets, where others take some of it.",
)
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for peers.md, peers.json and peers.png.",
)
def main(
    arguments: tuple[str, ...],
    threads: int,
    rounds: int,
    seconds: float,
    peers: tuple[str, ...],
    amx: str,
    clock: str,
    output: Path,
) -> None:
    """Time tvm-qnn and its peers on MODELs: .tflite and .onnx files, or networks of the zoo.

    Each program runs in a process of its own, all on the same cores, in turn. A program that is not
    installed, or cannot run the model, is left out, and the reason is printed.
    """
    console = terminal()
    chosen = list(peers or PEERS)
    conditions = Conditions(threads, amx == "without", clock)
    report = Report(setting(packages(chosen)), threads, clock, [])
    try:
        for name, model in models(arguments or DEFAULT):
            with tempfile.TemporaryDirectory() as temporary, console.status(name) as status:
                path = Path(temporary) / f"model{suffix_of(model)}"
                path.write_bytes(model)
                found = race(
                    name,
                    path,
                    inputs_of(model),
                    chosen,
                    Path(temporary),
                    conditions,
                    rounds=rounds,
                    seconds=seconds,
                    also_without_amx=amx == "both",
                    say=status.update,
                )
            report.races.append(found)
            console.print(
                as_table(*detail_rows(found), f"{name} ({TITLE.format(CLOCK_NOTES[clock])})")
            )
            for line in absent_lines(found):
                console.print(line, markup=False)
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    for line in setting_lines(report.setting, threads):
        console.print(line)
    output.mkdir(parents=True, exist_ok=True)
    write_text(output / "peers.md", as_markdown(report))
    write_text(output / "peers.json", figures(report))
    save_chart(output / "peers.png", report)
    console.print(
        f"Written: {', '.join(str(output / f'peers.{s}') for s in ('md', 'json', 'png'))}"
    )


if __name__ == "__main__":
    main()
