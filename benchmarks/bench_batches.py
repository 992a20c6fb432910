"""Times batches of pictures in tvm-qnn and in OpenVINO, in turn.

tvm-qnn runs a stream on each core; OpenVINO gets its hint for throughput, and chooses its streams::

    python -m benchmarks.bench_batches
    python -m benchmarks.bench_batches mobilenet_v2:uint8 my_model.tflite --batch 4
"""

import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

import tvm_qnn as qnn
from benchmarks import goals
from benchmarks.machine import PACKAGES, setting
from benchmarks.models import models, suffix_of
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, markdown, markdown_table, terminal
from frontends.formats import read_model
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.cores import on_cores
from tvm_qnn.io.images import noise
from tvm_qnn.io.outputs import write_text
from tvm_qnn.throughput.open_vino import start_open_vino
from tvm_qnn.throughput.ours import SharedLibrary
from tvm_qnn.throughput.rates import Streams, in_turn, with_batch
from tvm_qnn.timing import milliseconds

DEFAULT = ("inception_v3:int8_per_axis", "resnet50:int8_per_axis")
CORES = (1, 2)

_HEADER = ["model", "cores", "tvm-qnn", "OpenVINO", "ratio"]


@click.command()
@click.argument("names", nargs=-1)
@click.option("--batch", default=goals.BATCH, show_default=True, type=click.IntRange(min=1))
@click.option("--rounds", default=9, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for batches.md.",
)
def main(names: Sequence[str], batch: int, rounds: int, output: Path) -> None:
    """Time NAMES: files of models, or networks of the zoo."""
    console, rows = terminal(), []
    goal = goals.PICTURES if batch == goals.BATCH else None
    for name, contents in models(names or DEFAULT):
        try:
            library = _library(contents, batch)
            for cores in CORES:
                ours, theirs = _seconds_of_a_picture(library, contents, batch, cores, rounds)
                told = milliseconds(ours), milliseconds(theirs), goals.beside(ours / theirs, goal)
                rows.append([name, str(cores), *told])
        except QnnError as error:
            console.print(f"{name} is left out: {error}", markup=False)
    title = f"milliseconds a picture, {batch} pictures a run"
    console.print(as_table(_HEADER, rows, title))
    output.mkdir(parents=True, exist_ok=True)
    lines = setting_lines(setting([*PACKAGES, "openvino"]), max(CORES))
    write_text(output / "batches.md", markdown(lines, title, markdown_table(_HEADER, rows)))


def _library(model: bytes, batch: int) -> qnn.Library:
    """Build a model of single pictures for a batch."""
    source = read_model(model)
    single = [TensorInfo(note.name, note.shape, note.dtype) for note in source.summary("").inputs]
    infos = with_batch(single, batch)
    imported = source.convert({info.name: info.shape for info in infos})
    return qnn.build(imported.mod, "host", imported.params, num_threads=1)


def _seconds_of_a_picture(
    library: qnn.Library, model: bytes, batch: int, cores: int, rounds: int
) -> list[float]:
    """Return the median seconds of a picture in tvm-qnn and in OpenVINO, on so many cores."""
    inputs = [noise(info) for info in library.inputs]
    with on_cores(cores), tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / f"model{suffix_of(model)}"
        file.write_bytes(model)
        programs: dict[str, Streams] = {
            "ours": stack.enter_context(SharedLibrary(library, inputs, cores)),
            "OpenVINO": stack.enter_context(start_open_vino(file, batch, cores)),
        }
        rates = in_turn(programs, batch, rounds=rounds, seconds=float("inf"))
    return [1 / statistics.median(turns) for turns in rates.values()]


if __name__ == "__main__":
    main()
