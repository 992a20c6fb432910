"""`tvm-qnn run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.commands.options import (
    check_folder,
    json_option,
    model_argument,
    print_json,
    progress,
)

Shapes = Sequence[tuple[str, Sequence[int]]]

if TYPE_CHECKING:
    from tvm_qnn.library import Library


@click.command()
@model_argument
@click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    required=True,
    metavar="[NAME=]FILE",
    help="A picture, a .npy or .npz file; once for each input.",
)
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The names of a classifier's classes, one a line.",
)
@click.option(
    "--top", default=5, show_default=True, type=click.IntRange(min=1), help="Classes to print."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A .npz file for the outputs, by name.",
)
@click.option("--threads", type=click.IntRange(min=1), help="How many threads to use.")
@json_option
def run(
    model: Path,
    params: Path | None,
    semantics: str | None,
    shapes: Shapes,
    inputs: tuple[str, ...],
    labels: Path | None,
    top: int,
    output: Path | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Run MODEL, a library or a model file, on a picture or on arrays.

    A picture is scaled to the input's size and brought to its integers; a float array is
    quantized for a quantized input. For a classifier, prints the best classes.
    """
    from tvm_qnn.arguments import check_files, read_inputs
    from tvm_qnn.arrays import write_archive

    if output is not None and output.suffix != ".npz":
        raise click.UsageError("--output is an archive of arrays, its name must end in .npz")
    # Before the minutes that a large model takes to compile.
    check_files(inputs)
    if output is not None:
        check_folder(output)
    library = library_of(model, params, shapes, semantics, threads)
    arrays = read_inputs(inputs, library.inputs)
    result = library.run(*(arrays[info.name] for info in library.inputs))
    results = result if isinstance(result, dict) else {library.outputs[0].name: result}
    if output is not None:
        write_archive(output, results)
    answers = [_answer(info, results[info.name], labels, top) for info in library.outputs]
    if as_json:
        print_json(answers)
    else:
        _print(answers)


def library_of(
    model: Path,
    params: Path | None,
    shapes: Shapes,
    semantics: str | None,
    threads: int | None,
) -> Library:
    """Load a library, or import and compile a model file for this machine."""
    from tvm_qnn.library import load
    from tvm_qnn.model_files import LIBRARY

    if model.suffix == LIBRARY:
        if params or shapes or semantics:
            raise click.UsageError(
                "--params, --shape and --semantics are for model files, not for libraries"
            )
        return load(model, num_threads=threads)
    from tvm_qnn.build import build
    from tvm_qnn.model_files import import_model
    from tvm_qnn.steps import step

    console = progress()
    with step(console, f"Import {model.name}"):
        mod, constants = import_model(model, params, dict(shapes), semantics)
    with step(console, "Compile for this machine"):
        return build(mod, "host", constants, num_threads=threads, cache=True)


def _answer(info: Any, array: Any, labels: Path | None, top: int) -> dict[str, Any]:
    from tvm_qnn.classes import best_classes, is_classifier, read_labels

    answer = {"output": info.name, "shape": list(array.shape), "dtype": str(array.dtype)}
    if is_classifier(info):
        names = read_labels(labels, max(info.shape)) if labels else ()
        guesses = best_classes(array, info, names, top)
        return {**answer, "classes": [vars(guess) for guess in guesses]}
    return {**answer, "min": array.min().item(), "max": array.max().item()}


def _print(answers: list[dict[str, Any]]) -> None:
    from tvm_qnn.classes import Guess
    from tvm_qnn.guesses import print_guesses
    from tvm_qnn.terminal import Terminal, styled

    console = Terminal()
    for answer in answers:
        shape = "×".join(map(str, answer["shape"]))
        console.print(styled(answer["output"]), f": {answer['dtype']} {shape}", sep="")
        if "classes" in answer:
            print_guesses(console, [Guess(**guess) for guess in answer["classes"]])
        else:
            console.print(f"from {answer['min']} to {answer['max']}")
