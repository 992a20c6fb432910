"""`tvm-qnn run`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands.options import (
    ModelFile,
    json_option,
    model_argument,
    print_json,
    progress,
)
from tvm_qnn.cli.commands.outputs import check_file

if TYPE_CHECKING:
    from qnn_ops.signature import Signature
    from tvm_qnn.library.library import Library


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
    model: ModelFile,
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
    from tvm_qnn.cli.arguments import check_files, read_inputs
    from tvm_qnn.cli.arrays import write_archive
    from tvm_qnn.cli.model_files import ending
    from tvm_qnn.io.classes import is_classifier, read_labels

    if output is not None and ending(output) != ".npz":
        raise click.UsageError("--output is an archive of arrays, its name must end in .npz")
    # Before the minutes that a large model takes to compile.
    check_files(inputs)
    if output is not None:
        check_file(output)
    signature, make = signature_of_model(model, threads)
    arrays = read_inputs(inputs, signature.inputs)
    names = {
        info.name: read_labels(labels, max(info.shape)) if labels else ()
        for info in signature.outputs
        if is_classifier(info)
    }
    library = make()
    result = library.run(*(arrays[info.name] for info in library.inputs))
    results = result if isinstance(result, dict) else {library.outputs[0].name: result}
    if output is not None:
        write_archive(output, results)
    answers = [
        _answer(info, results[info.name], names.get(info.name), top) for info in library.outputs
    ]
    if as_json:
        print_json(answers)
    else:
        _print(answers)


def library_of(model: ModelFile, threads: int | None) -> Library:
    """Load a library, or import and compile a model file for this machine."""
    _, make = signature_of_model(model, threads)
    return make()


def signature_of_model(
    model: ModelFile, threads: int | None
) -> tuple[Signature, Callable[[], Library]]:
    """Return the signature of a library or a model, and its loader or compiler for this machine."""
    from tvm_qnn.cli.model_files import LIBRARY
    from tvm_qnn.library.library import load

    if model.path.suffix == LIBRARY:
        if model.params or model.shapes or model.semantics:
            raise click.UsageError(
                "--params, --shape and --semantics are for model files, not for libraries"
            )
        library = load(model.path, num_threads=threads)
        return library.signature, lambda: library
    from qnn_ops.signature import signature_of
    from qnn_ops.tensor_info import with_unique_names
    from tvm_qnn.build import build
    from tvm_qnn.io.progress import timed

    console = progress()
    with timed(console, f"Import {model.path.name}"):
        imported = model.read().convert(model.shapes)

    def make() -> Library:
        with timed(console, "Compile for this machine"):
            return build(imported.mod, "host", imported.params, num_threads=threads, cache=True)

    return with_unique_names(signature_of(imported.mod)), make


def _answer(info: Any, array: Any, names: Sequence[str] | None, top: int) -> dict[str, Any]:
    """Describe an output; a classifier's has names, if only an empty list of them."""
    from tvm_qnn.io.classes import best_classes

    answer = {"output": info.name, "shape": list(array.shape), "dtype": str(array.dtype)}
    if names is not None:
        guesses = best_classes(array, info, names, top)
        return {**answer, "classes": [vars(guess) for guess in guesses]}
    return {**answer, "min": array.min().item(), "max": array.max().item()}


def _print(answers: list[dict[str, Any]]) -> None:
    from tvm_qnn.io.classes import Guess
    from tvm_qnn.io.guesses import print_guesses
    from tvm_qnn.io.terminal import Terminal, styled

    console = Terminal()
    for answer in answers:
        shape = "×".join(map(str, answer["shape"]))
        console.print(styled(answer["output"]), f": {answer['dtype']} {shape}", sep="")
        if "classes" in answer:
            print_guesses(console, [Guess(**guess) for guess in answer["classes"]])
        else:
            console.print(f"from {answer['min']} to {answer['max']}")
