"""The command `tvm-qnn-runtime`, which runs libraries with TVM's runtime and without its compiler.

Every import is at the top of a file, so that the wheel for devices can list what it needs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

import tvm_qnn.library.library
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.cli.commands.info import info
from tvm_qnn.cli.commands.outputs import json_option, print_json
from tvm_qnn.cli.group import Commands
from tvm_qnn.io.arrays import read_archive, read_array, write_archive
from tvm_qnn.io.text import visible
from tvm_qnn.library.arrays import named_results
from tvm_qnn.version import __version__

_TOP = 5


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(
    __version__, package_name="tvm-qnn-runtime", message="%(package)s %(version)s"
)
def main(debug: bool) -> None:
    """Run libraries that `tvm-qnn compile` made, on a device without TVM's compiler."""


@click.command()
@click.argument("library", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    required=True,
    metavar="[NAME=]FILE",
    help="A .npy file for each input, in order or by name; or one .npz file for all.",
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
    library: Path, inputs: tuple[str, ...], output: Path | None, threads: int | None, as_json: bool
) -> None:
    """Run LIBRARY on arrays, and print each output's greatest values with their indices.

    Float arrays are quantized for a quantized input.
    """
    if output is not None and output.suffix != ".npz":
        raise click.UsageError("--output is an archive of arrays, its name must end in .npz")
    loaded = tvm_qnn.library.library.load(library, num_threads=threads)
    arrays: dict[str, Any] = {"quantize_inputs": True, **read_inputs(inputs, loaded.inputs)}
    results = named_results(loaded.outputs, loaded.run(**arrays))
    if output is not None:
        write_archive(output, results)
    answers = [_answer(each, results[each.name]) for each in loaded.outputs]
    if as_json:
        print_json(answers)
        return
    for each, answer in zip(loaded.outputs, answers, strict=True):
        click.echo(visible(each.describe()))
        for found in answer["greatest"]:
            click.echo(f"  {found['value']:g} at {', '.join(map(str, found['place']))}")


def read_inputs(texts: Sequence[str], infos: Sequence[TensorInfo]) -> dict[str, np.ndarray]:
    """Read the arrays of a library's inputs, by name.

    Args:
        texts: files in the inputs' order, or as name=file.
        infos: the inputs.

    Raises:
        QnnError: if a file cannot be read, or an input is given twice.
    """
    names = [info.name for info in infos]
    arrays: dict[str, np.ndarray] = {}
    for place, text in enumerate(texts):
        name, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            name, file = names[min(place, len(names) - 1)], text
        path = Path(file)
        found = read_archive(path) if path.suffix == ".npz" else {name: read_array(path)}
        if twice := found.keys() & arrays.keys():
            raise QnnError(f"input {min(twice)!r} is given twice")
        arrays |= found
    return arrays


def _answer(tensor: TensorInfo, array: np.ndarray) -> dict[str, Any]:
    """Describe an output and its greatest values, the first of equal ones."""
    places = np.argsort(-array.astype(np.float64), axis=None, kind="stable")[:_TOP]
    return {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "greatest": [
            {
                "value": array.flat[place].item(),
                "place": [int(each) for each in np.unravel_index(place, array.shape)],
            }
            for place in places
        ],
    }


for command in (info, run):
    main.add_command(command)
