"""`tvm-qnn compare`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.options import NEW_FILE, ModelFile, Parsed, progress
from tvm_qnn.cli.commands.outputs import check_file, json_option, print_json
from tvm_qnn.io.text import visible

if TYPE_CHECKING:
    from frontends.formats import Source
    from tvm_qnn.compare import Comparison

_FRAMEWORKS = ("litert", "onnxruntime", "xnnpack")


def _against(text: str) -> str | Path:
    """Read the name of a framework, or a file."""
    if text in _FRAMEWORKS:
        return text
    if not Path(text).is_file():
        raise ValueError
    return Path(text)


@click.command()
@options.model_argument
@options.input_option("A picture, a .npy or .npz file, or a folder of them; by default, noise.")
@click.option(
    "--against",
    type=Parsed("against", _against, f"is none of {', '.join(_FRAMEWORKS)}, nor a file"),
    metavar="litert|onnxruntime|xnnpack|FILE",
    help="The other side: by default MODEL's own framework; or another model, a library, or a "
    ".npz file of outputs by name.",
)
@options.device_option
@options.target_option
@click.option("--primitives", is_flag=True, help="Use portable code instead of the kernels.")
@click.option("--histogram", type=NEW_FILE, help="A PNG file for a histogram of the differences.")
@click.option(
    "--html",
    type=NEW_FILE,
    help="A file for one page with the graph and the differences, to open in a browser.",
)
@json_option
def compare(
    model: ModelFile,
    inputs: tuple[str, ...],
    against: str | Path | None,
    device: tuple[str, int] | None,
    target: str,
    primitives: bool,
    histogram: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Compare every tensor of MODEL with its own framework's.

    A .tflite file runs on LiteRT's reference kernels. An .onnx file runs on ONNX Runtime; quantized
    tensors and outputs are compared. A .pt2 file runs on ExecuTorch's delegate to XNNPACK; outputs
    are compared. Then follow the outputs of the library that is built for use, whose operators are
    fused. With --against FILE or --device, or if MODEL is a library, only outputs are compared. The
    exit code is 1 if an element of a tensor differs.
    """
    from tvm_qnn.cli.sides import turns
    from tvm_qnn.io.figures import check_picture
    from tvm_qnn.target.target import parse_target, runnable_target

    if model.is_library:
        model.refuse_options(primitives=primitives)
    if model.is_library and not isinstance(against, Path):
        raise click.UsageError(
            "a library does not know its model's file: name what to compare with by --against FILE"
        )
    if html is not None:
        if model.is_library:
            raise click.UsageError("--html draws the graph of a model file, not of a library")
        check_file(html)
    parsed = runnable_target(target) if device is None else parse_target(target)
    files = turns(inputs)
    if histogram is not None:
        check_file(histogram)
        check_picture(histogram)
    if device is None and not isinstance(against, Path):
        found = _tensors(model, files, against, parsed, not primitives)
    else:
        source = None if model.is_library else model.read()
        found = _outputs(model, source, files, against, device, parsed, not primitives)
    if histogram is not None:
        save_histogram(histogram, found, model.path.name)
    if html is not None:
        _write_page(html, model, found)
    if as_json:
        print_json(
            {
                "equal": found.is_equal,
                "reference": found.reference,
                "runs": found.runs,
                "tensors": [asdict(tensor) for tensor in found.tensors],
                "outputs": [asdict(output) for output in found.outputs],
            }
        )
    else:
        _print(found, files)
    if not found.is_equal:
        raise SystemExit(1)


def _tensors(
    model: ModelFile, files: list[tuple[str, ...]], against: str | None, target: Any, kernels: bool
) -> Comparison:
    """Compare all tensors with the model's own framework."""
    from qnn_ops.dialect.signature import signature_of
    from qnn_ops.input_ranges import with_input_ranges
    from tvm_qnn import compare as compare_model
    from tvm_qnn.cli.arguments import read_inputs
    from tvm_qnn.compare import reference_of
    from tvm_qnn.io.images import noise
    from tvm_qnn.io.progress import timed

    reference = reference_of(model.file, against)
    reference.check()
    source = model.read()
    mod = source.convert(model.shapes).mod
    infos = with_input_ranges(mod, signature_of(mod)).inputs
    described = source.descriptions().inputs

    def arrays(texts: tuple[str, ...]) -> list[Any]:
        given = read_inputs(texts, infos, described) if texts else {}
        return [given.get(info.name, noise(info)) for info in infos]

    first, *rest = files
    with timed(progress(), f"Run {model.path.name} here and on {reference.title}"):
        return compare_model(
            model.file,
            arrays(first),
            target,
            kernels=kernels,
            shape_dict=dict(model.shapes),
            then=map(arrays, rest),
        )


def _outputs(
    model: ModelFile,
    source: Source | None,
    files: list[tuple[str, ...]],
    against: str | Path | None,
    device: tuple[str, int] | None,
    target: Any,
    kernels: bool,
) -> Comparison:
    """Compare the outputs with another program's."""
    from contextlib import ExitStack

    from tvm_qnn import remote
    from tvm_qnn.cli.sides import other_side, runs_of, side_here, side_of_framework
    from tvm_qnn.compare import compare_outputs, reference_of
    from tvm_qnn.io.progress import timed

    if isinstance(against, Path):
        theirs = other_side(against)
        if not theirs.inputs and (len(files) > 1 or not files[0]):
            raise click.UsageError("outputs in an archive are of one --input")
    else:
        reference_of(model.file, against).check()
        found = side_of_framework(model.file, is_other=False)
        assert found is not None  # every model with a reference can run
        theirs = found
    with ExitStack() as stack:
        upload = None if device is None else stack.enter_context(remote(*device)).load
        stack.enter_context(timed(progress(), f"Run {model.path.name} and {theirs.title}"))
        ours = side_here(model.path, source, model.shapes, target, kernels, upload)
        return compare_outputs(
            ours.program, theirs.program, runs_of(files, ours, theirs), theirs.title
        )


def save_histogram(path: Path, comparison: Comparison, title: str) -> None:
    """Draw a histogram of the differences of integer tensors in steps, zero included.

    Args:
        path: the PNG file to write.
        comparison: the comparison to draw.
        title: a title above it.

    Raises:
        QnnError: matplotlib is not installed, or the file cannot be written.
    """
    from tvm_qnn.io.figures import new_figure, save_figure

    counts: Counter[int] = Counter()
    for tensor in comparison.tensors:
        counts.update(tensor.steps)
    wrong = sum(tensor.differing for tensor in comparison.tensors)
    counts[0] = comparison.elements - wrong
    figure = new_figure(7, 4)
    axes = figure.subplots()
    axes.bar(list(counts), list(counts.values()), width=0.9)
    axes.set_yscale("log")
    axes.set_xlabel(f"steps that an element is larger than that of {comparison.reference}")
    axes.set_ylabel("elements")
    axes.locator_params(axis="x", integer=True)
    found = f"{visible(title)}: {wrong:,} of {comparison.elements:,} elements differ"
    axes.set_title(found, loc="left", parse_math=False)
    save_figure(figure, path)


def _write_page(path: Path, model: ModelFile, found: Comparison) -> None:
    from tvm_qnn.compare import REFERENCES
    from tvm_qnn.inspect.report import html_report
    from tvm_qnn.io.outputs import write_text
    from tvm_qnn.io.pages import how_made

    source = model.read()
    summary = source.summary(model.path.name, model.shapes)
    differences = {tensor.name: asdict(tensor) for tensor in found.tensors}
    packages = [each.package for each in REFERENCES if each.title == found.reference]
    equal = sum(tensor.is_equal for tensor in found.tensors)
    verdict = f"{equal} of {len(found.tensors)} tensors equal to {found.reference}"
    page = html_report(
        summary,
        differences=differences,
        constants=source.constants(),
        verdict=f"{verdict} ({how_made(*packages)['versions']})",
    )
    write_text(path, page)


def _print(found: Comparison, files: list[tuple[str, ...]]) -> None:
    from tvm_qnn.demo.report import print_comparison
    from tvm_qnn.io.terminal import Terminal, styled

    console = Terminal()
    print_comparison(console, found)
    if found.differing:
        first: Any = found.differing[0]
        said = ["The first that differs: ", styled(first.name)]
        if first.operator:
            said.append(f", of {first.operator}")
        if found.runs > 1 and first.run is not None:
            said += [", with ", styled(", ".join(files[first.run]))]
        console.print(*said, ".", sep="")
