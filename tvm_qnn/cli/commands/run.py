"""`tvm-qnn run`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.outputs import check_file, json_option, print_json
from tvm_qnn.cli.model_files import ending

if TYPE_CHECKING:
    from frontends.summary import Descriptions
    from qnn_ops.dialect.signature import Signature
    from tvm_qnn.io.preparation import Preparation
    from tvm_qnn.library.library import Library


@click.command()
@options.model_argument
@options.input_option("A picture, a .npy or .npz file; once for each input.", required=True)
@options.picture_options
@click.option(
    "--labels",
    type=options.FILE,
    help="The names of the model's classes, one a line, instead of those in the model file.",
)
@options.number_option("--top", default=5, help_text="Classes to print.")
@click.option(
    "--threshold",
    type=float,
    help="The least score of a detection or key point; by default the model file's, or 0.3.",
)
@click.option(
    "--draw",
    type=options.NEW_FILE,
    help="A .png or .jpg file for the picture with detections, a mask or key points on it.",
)
@click.option("--output", "-o", type=options.NEW_FILE, help="A .npz file for the outputs, by name.")
@click.option("--threads", type=click.IntRange(min=1), help="How many threads to use.")
@json_option
def run(
    model: options.ModelFile,
    inputs: tuple[str, ...],
    labels: Path | None,
    top: int,
    threshold: float | None,
    draw: Path | None,
    output: Path | None,
    threads: int | None,
    as_json: bool,
    **pictures: Any,
) -> None:
    """Run MODEL, a library or a model file, on a picture or on arrays.

    A picture is scaled to the input's size, or cut as --crop and --resize say. Its pixels become
    the input's integers, or for a float32 input the real numbers of the model's file, its operators
    or --mean and --std. A float array is quantized for a quantized input. The command prints the
    best classes of a classifier, or the objects in the picture if the meaning of the outputs is
    certain; --draw draws them.
    """
    from tvm_qnn.answers.question import Question
    from tvm_qnn.answers.readings import readings_of
    from tvm_qnn.cli.answers import check_drawing, describe, show, write_drawing
    from tvm_qnn.cli.arguments import check_files, picture_among, read_inputs
    from tvm_qnn.io.arrays import write_archive
    from tvm_qnn.io.images import open_picture, picture_shape
    from tvm_qnn.library.arrays import named_results

    if output is not None and ending(output) != ".npz":
        raise click.UsageError("--output is an archive of arrays, its name must end in .npz")
    # Before the minutes that a large model takes to compile.
    check_files(inputs)
    for path in (output, draw):
        if path is not None:
            check_file(path)
    signature, descriptions, make = model_of(model, threads)
    preparation = preparation_of(pictures)
    say = options.progress().print
    arrays = read_inputs(inputs, signature.inputs, descriptions.inputs, preparation, say)
    question = Question(signature, descriptions, labels, top, threshold)
    readings = readings_of(question)
    found = picture_among(inputs, signature.inputs)
    picture = None if found is None else open_picture(found[0])
    if found is not None and picture is not None and not preparation.is_whole:
        picture = preparation.frame(picture, *picture_shape(found[1])[:2])
    if draw is not None:
        check_drawing(draw, picture, readings)
    for note in (*descriptions.notes, *question.notes):
        warnings.warn(note, stacklevel=2)
    library = make()
    ran = library.run(*(arrays[info.name] for info in library.inputs))
    results = named_results(library.outputs, ran)
    if output is not None:
        write_archive(output, results)
    answers = {
        reading.outputs[0].name: reading.answer([results[info.name] for info in reading.outputs])
        for reading in readings
    }
    if draw is not None and picture is not None:
        write_drawing(draw, picture, answers.values())
    taken = {info.name: reading for reading in readings for info in reading.outputs}
    if as_json:
        print_json([describe(name, array, taken, answers) for name, array in results.items()])
    else:
        show(results, taken, answers, picture)


def library_of(model: options.ModelFile, threads: int | None) -> Library:
    """Load a library, or import and compile a model file for this machine."""
    return model_of(model, threads)[2]()


def model_of(
    model: options.ModelFile, threads: int | None, target: str = "host"
) -> tuple[Signature, Descriptions, Callable[[], Library]]:
    """Return the description of a library or a model, and its loader or compiler."""
    from frontends.summary import Descriptions
    from tvm_qnn.library.library import load

    if model.is_library:
        model.refuse_options()
        library = load(model.path, num_threads=threads)
        return library.signature, Descriptions(), lambda: library
    from qnn_ops.dialect.signature import signature_of
    from qnn_ops.dialect.tensor_info import with_unique_names
    from qnn_ops.input_ranges import with_input_ranges
    from tvm_qnn.build import build
    from tvm_qnn.io.progress import timed

    console = options.progress()
    with timed(console, f"Import {model.path.name}"):
        source = model.read()
        imported = source.convert(model.shapes)

    def make() -> Library:
        where = "this machine" if target == "host" else target
        with timed(console, f"Compile for {where}"):
            return build(imported.mod, target, imported.params, num_threads=threads, cache=True)

    signature = with_input_ranges(imported.mod, with_unique_names(signature_of(imported.mod)))
    return signature, source.descriptions(), make


def preparation_of(settings: Mapping[str, Any]) -> Preparation:
    """Return the preparation from ``picture_options``; None stands for a missing option."""
    from tvm_qnn.io.normalization import Normalization
    from tvm_qnn.io.preparation import Preparation

    kept = {name: settings.get(name) for name in ("crop", "resize", "order")}
    mean, std = settings.get("mean"), settings.get("std")
    given = None
    if std is not None and 0 in std:
        raise click.UsageError("--std is what is divided by: it cannot be 0")
    if mean is not None or std is not None:
        given = Normalization(mean or (0.0,), std or (1.0,), "--mean and --std")
    known = {name: value for name, value in kept.items() if value is not None}
    return Preparation(**known, normalization=given)
