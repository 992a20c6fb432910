"""`tvm-qnn evaluate`."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.outputs import check_folder, json_option, print_json
from tvm_qnn.cli.commands.run import model_of, preparation_of

if TYPE_CHECKING:
    from tvm_qnn.evaluate.evaluation import Evaluation
    from tvm_qnn.evaluate.feed import Feed
    from tvm_qnn.evaluate.tasks.task import Task
    from tvm_qnn.evaluate.worker import Beside, Runner
    from tvm_qnn.io.preparation import Preparation
    from tvm_qnn.library.library import Library


@click.command()
@options.model_argument
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--labels", type=options.FILE, help="The names of the model's classes, one a line.")
@click.option(
    "--offset",
    type=click.IntRange(min=0),
    help="A number to add to labels, such as 1 if the model's class 0 is a background.",
)
@options.picture_options
@click.option(
    "--config",
    type=options.FILE,
    help="A TOML file with these options; by default MODEL's name with .toml, if it is there.",
)
@click.option(
    "--against",
    type=options.FILE,
    help="Another .tflite or .onnx model to run beside MODEL, instead of MODEL's own framework.",
)
@click.option("--alone", is_flag=True, help="Run nothing beside the model.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Processes, of one thread each; by default one for each processor.",
)
@click.option(
    "--ray",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Run on a Ray cluster, by default this machine's; --jobs then counts for the cluster.",
)
@options.folder_option(
    "A folder for the report, tables and figures; a stopped evaluation continues from it."
)
@json_option
def evaluate(
    model: options.ModelFile,
    data: Path,
    labels: Path | None,
    against: Path | None,
    alone: bool,
    jobs: int | None,
    ray: str | None,
    output: Path | None,
    as_json: bool,
    **others: Any,
) -> None:
    """Measure how often MODEL is right on DATA, and whether its framework agrees.

    DATA is a folder with a folder for each class; a .csv or .jsonl file with path and label of each
    picture; an .npz file with arrays of inputs and labels; a folder with pictures in `images` and
    masks of the same names in `masks`; or a .json file with boxes in COCO's form. MODEL is a
    library or a model file. A .tflite model also runs on LiteRT's reference kernels, an .onnx model
    on ONNX Runtime.
    """
    from tvm_qnn.answers.question import Question
    from tvm_qnn.answers.readings import readings_of
    from tvm_qnn.evaluate.cluster import Cluster, check_ray
    from tvm_qnn.evaluate.evaluation import NAME, journal_of
    from tvm_qnn.evaluate.evaluation import evaluate as run_all
    from tvm_qnn.evaluate.feed import Feed
    from tvm_qnn.evaluate.report import write_report
    from tvm_qnn.evaluate.sources import read_data
    from tvm_qnn.evaluate.tasks import classes_of, task_of
    from tvm_qnn.evaluate.worker import Job
    from tvm_qnn.io.progress import counted

    if alone and against is not None:
        raise click.UsageError("--alone runs nothing beside the model, and --against does")
    if output is not None:
        check_folder(output)
    if ray is not None:
        check_ray()
    settings = _settings(model.path, others, labels)
    preparation = preparation_of(settings)
    signature, descriptions, make = model_of(model, 1)
    question = Question(signature, descriptions, settings.get("labels"))
    readings = readings_of(question)
    read = read_data(data, classes_of(readings, settings.get("offset", 0)))
    task = task_of(read.kind, readings, signature.outputs)
    feed = Feed.of(signature.inputs, descriptions.inputs, preparation)
    feed.check(read.samples[0])
    beside = None if alone else _beside(model, against, feed, task, preparation)
    if beside is not None:
        beside.feed.check(read.samples[0])
    for note in (*descriptions.notes, *question.notes):
        warnings.warn(note, stacklevel=2)
    console = options.progress()
    for note in read.notes:
        console.print(note)
    if feed.takes_pixels(read.samples[0]) and feed.normalization is not None:
        feed.normalization.tell(f"input {feed.infos[0].name!r}", console.print)
    library = make()
    run, content = _runner(library, jobs, ray)
    job = Job(content, read, feed, task, beside)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    journal = journal_of(job, library.metadata.digest, output and output / NAME)
    done, start = len(journal.records), time.perf_counter()
    with counted(console, f"Evaluate {model.path.name}", len(read.samples), done) as advance:
        found = run_all(job, run, journal, advance)
    seconds = time.perf_counter() - start
    title = f"{model.path.name} on {data.name or data}"
    files = [] if output is None else write_report(output, title, found, _about(library))
    if as_json:
        new = len(read.samples) - done
        times = {"new_samples": new, "seconds": round(seconds, 3), "files": [*map(str, files)]}
        if isinstance(run, Cluster):
            times["nodes"] = dict(run.nodes)
        print_json({"model": str(model.path), "data": str(data), **found.figures, "run": times})
    else:
        _print(title, found, files)
        if isinstance(run, Cluster):
            counts = ", ".join(f"{count:,}" for count in run.nodes.values())
            click.echo(f"Samples of each node: {counts}")


def _about(library: Library) -> dict[str, str]:
    """Return how an evaluation was made: command, date, versions and the library's digest."""
    from tvm_qnn.io.pages import how_made

    about = how_made("ai-edge-litert", "onnxruntime", "executorch")
    return {**about, "library": f"digest {library.metadata.digest}"}


def _settings(model: Path, asked: dict[str, Any], labels: Path | None) -> dict[str, Any]:
    """Return the settings of the options, and of a TOML file where there is no option."""
    from tvm_qnn.evaluate.settings import read_settings

    config = asked.pop("config") or model.with_suffix(".toml")
    found = read_settings(config) if config.is_file() else {}
    given = {**asked, "labels": labels}
    return {**found, **{name: value for name, value in given.items() if value is not None}}


def _beside(
    model: options.ModelFile, against: Path | None, feed: Feed, task: Task, preparation: Preparation
) -> Beside | None:
    """Return the model to run beside: the same on its own framework, or another model."""
    from qnn_ops.errors import QnnError
    from tvm_qnn.evaluate.feed import Feed
    from tvm_qnn.evaluate.peers import described, peer_of
    from tvm_qnn.evaluate.worker import Beside

    if against is None:
        if model.is_library:
            return None
        peer = peer_of(model.file, is_other=False)
        if peer is not None:
            peer.start()  # an error before the minutes that a large model takes
        return None if peer is None else Beside(peer, feed, task)
    peer = peer_of(against, is_other=True)
    if peer is None:
        raise QnnError(f"--against takes a .tflite or an .onnx model, {against} is none")
    inputs, outputs, descriptions = described(against, peer.start())
    own = Feed.of(inputs, descriptions, preparation)
    try:
        theirs = task.on(outputs)
    except IndexError:
        raise QnnError(f"{against} has other outputs than {model.file}") from None
    # If both feeds are alike, use one object, so that inputs are made once.
    return Beside(peer, feed if _alike(own, feed) else own, theirs)


def _alike(one: Feed, other: Feed) -> bool:
    from dataclasses import replace

    unnamed = [tuple(replace(info, name="") for info in each.infos) for each in (one, other)]
    return unnamed[0] == unnamed[1] and one.normalization == other.normalization


def _runner(library: Library, jobs: int | None, ray: str | None) -> tuple[Runner, bytes]:
    """Return the runner of samples, and the library in the form that other processes load."""
    import pickle

    from qnn_ops.errors import QnnError
    from tvm_qnn.evaluate.cluster import Cluster
    from tvm_qnn.evaluate.worker import in_process, in_processes
    from tvm_qnn.target.processor import processors

    if ray is not None:
        return Cluster(ray, jobs), pickle.dumps(library)
    count = jobs or processors()
    if count == 1:
        return in_process(library), b""
    try:
        return in_processes(count), pickle.dumps(library)
    except QnnError as error:  # there is no linker
        if jobs is not None:
            raise
        warnings.warn(f"one process: the library cannot be given to others: {error}", stacklevel=2)
        return in_process(library), b""


def _print(title: str, found: Evaluation, files: list[Path]) -> None:
    from tvm_qnn.evaluate.report import remarks, summary
    from tvm_qnn.io.terminal import Terminal, figures_table

    console = Terminal()
    beside = found.figures["beside"]
    heads = ["tvm-qnn", *([beside["title"]] if beside else [])]
    titled = f"{title}: {found.figures['samples']:,} samples"
    table = figures_table([""], heads, titled)
    for name, cells in summary(found):
        table.add_row(name, *cells)
    if table.rows:
        console.print(table)
    else:
        console.print(titled)
    for text in remarks(found):
        console.print(text)
    for path in files:
        console.print(f"Written: {path}")
