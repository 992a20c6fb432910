"""`tvm-qnn compare`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands.json_output import json_option, print_json
from tvm_qnn.cli.commands.options import FILE, progress, shape_option, target_option
from tvm_qnn.cli.commands.outputs import check_file

if TYPE_CHECKING:
    from tvm_qnn.compare import Comparison


@click.command()
@click.argument("model", type=FILE)
@click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    metavar="[NAME=]FILE",
    help="A picture, a .npy or .npz file; by default, noise.",
)
@click.option(
    "--against",
    type=click.Choice(["litert", "onnxruntime"]),
    help="What to compare with; by default what MODEL's format is of.",
)
@shape_option
@target_option
@click.option("--primitives", is_flag=True, help="Portable code instead of the kernels.")
@click.option(
    "--histogram",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A PNG file for a histogram of the differences.",
)
@json_option
def compare(
    model: Path,
    inputs: tuple[str, ...],
    against: str | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    target: str,
    primitives: bool,
    histogram: Path | None,
    as_json: bool,
) -> None:
    """Compare every tensor of MODEL with what its own framework computes.

    A .tflite file with LiteRT's reference kernels; an .onnx file with ONNX Runtime, all that is
    quantized and the outputs. Ends with code 1 if an element of a tensor differs.
    """
    from frontends.formats import read_model
    from qnn_ops.input_ranges import with_input_ranges
    from qnn_ops.signature import signature_of
    from tvm_qnn import compare as compare_model
    from tvm_qnn.cli.arguments import read_inputs
    from tvm_qnn.cli.histogram import save_histogram
    from tvm_qnn.compare import reference_of
    from tvm_qnn.io.figures import check_picture
    from tvm_qnn.io.images import noise
    from tvm_qnn.io.progress import timed
    from tvm_qnn.target.target import runnable_target

    reference = reference_of(model, against)
    reference.check()
    parsed = runnable_target(target)
    if histogram is not None:
        check_file(histogram)
        check_picture(histogram)
    source = read_model(model)
    mod = source.convert(dict(shapes)).mod
    infos = with_input_ranges(mod, signature_of(mod)).inputs
    given = read_inputs(inputs, infos, source.descriptions().inputs) if inputs else {}
    arrays = [given.get(info.name, noise(info)) for info in infos]
    with timed(progress(), f"Run {model.name} here and on {reference.title}"):
        found = compare_model(
            model, arrays, parsed, kernels=not primitives, shape_dict=dict(shapes)
        )
    if histogram is not None:
        save_histogram(histogram, found, model.name)
    if as_json:
        tensors = [asdict(tensor) for tensor in found.tensors]
        print_json({"equal": found.is_equal, "reference": found.reference, "tensors": tensors})
    else:
        _print(found)
    if not found.is_equal:
        raise SystemExit(1)


def _print(found: Comparison) -> None:
    from tvm_qnn.demo.report import print_comparison
    from tvm_qnn.io.terminal import Terminal, styled

    console = Terminal()
    print_comparison(console, found)
    if found.differing:
        first: Any = found.differing[0]
        name = styled(first.name)
        console.print("The first that differs: ", name, f", of {first.operator}.", sep="")
