"""Part 2: compiles, compares and times Inception V3, or the reader's own model and picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from qnn_ops.dialect.signature import Signature, signature_of
from qnn_ops.errors import QnnError
from qnn_ops.input_ranges import with_input_ranges
from tvm_qnn import zoo
from tvm_qnn.build import build
from tvm_qnn.compare import Comparison, compare
from tvm_qnn.demo.report import print_checked
from tvm_qnn.io.classes import best_classes, is_classifier, read_labels
from tvm_qnn.io.images import noise
from tvm_qnn.io.normalization import normalization_of
from tvm_qnn.io.preparation import Preparation
from tvm_qnn.io.progress import native_code_is_quiet, timed
from tvm_qnn.io.terminal import Terminal, print_guesses, styled
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.library import Library
from tvm_qnn.oracle import LiteRtSession, litert_tensors
from tvm_qnn.target.target import host_target
from tvm_qnn.timing import LITERT, OURS, Timing, alternate, one_core
from tvm_qnn.zoo import images

STYLE = "int8_per_axis"


@dataclass(frozen=True)
class Checked:
    """The result of the check.

    Attributes:
        outputs: the model's outputs in order, from the library that was timed.
        comparison: all intermediate tensors and these outputs, compared with LiteRT's reference
            kernels.
        timings: the times of one thread, by program: OURS and LITERT.
    """

    outputs: list[np.ndarray]
    comparison: Comparison
    timings: dict[str, Timing]


def compile_here(console: Terminal, mod: Any, params: Mapping[str, Any]) -> Library:
    """Compile an imported model for this machine."""
    with timed(console, f"Compile for this machine ({host_target().attrs['mcpu']})"):
        return build(mod, "host", params)


def check_and_time(
    console: Terminal, model: bytes, library: Library, inputs: Sequence[np.ndarray]
) -> Checked:
    """Compare a compiled model with LiteRT's reference kernels, and time both programs.

    Args:
        console: where to show the progress.
        model: the contents of the .tflite file.
        library: the same model, compiled for this machine.
        inputs: one array for each of the model's inputs.
    """
    with timed(console, "Run LiteRT's reference kernels, keeping every tensor"):
        expected = litert_tensors(model, inputs)
    with timed(console, "Compile again with every tensor as an output, and compare them"):
        comparison = compare(model, inputs, "host", expected=expected, used=library)
    with native_code_is_quiet():
        session = LiteRtSession(model)
    with timed(console, "Time both on one thread, in turn"), one_core():
        timings = alternate({OURS: library.prepare(*inputs), LITERT: session.prepare(inputs)})
    return Checked(results_of(library.run(*inputs)), comparison, timings)


def show_inception(console: Terminal, name: str = "inception_v3", tiny: bool = False) -> Checked:
    """Make a network of the zoo, compile it, check it, time it, and print what came out.

    Args:
        console: where to print.
        name: of the network.
        tiny: whether to take a small relative of it, for a quick look.
    """
    console.print()
    console.print(
        styled(f"{name}{' (tiny)' if tiny else ''}"),
        f", {STYLE}: the published network with weights drawn from a seed, not trained. It takes "
        "the time of the trained one and meets the same arithmetic; its answers mean nothing.",
        sep="",
    )
    with timed(console, "Make the model"):
        model = zoo.build(name, STYLE, tiny=tiny)
    with timed(console, "Import it"):
        graph = read_model(model)
        mod, params = from_tflite(graph)
    library = compile_here(console, mod, params)
    (info,) = library.inputs
    picture = images.as_input(images.picture(0, info.shape[1]), info.dtype)[None]
    checked = check_and_time(console, model, library, [picture])
    print_checked(console, checked)
    return checked


def show_own_model(
    console: Terminal, path: Path, image: Path | None = None, labels: Path | None = None
) -> Checked:
    """Compile a model, check it, time it, and print what came out.

    Args:
        console: where to print.
        path: of a quantized .tflite file.
        image: a picture for its input; noise if there is none.
        labels: the names of its classes, one a line.

    Raises:
        QnnError: if the model cannot be imported, or picture or labels do not fit it.
    """
    graph = read_model(path)  # names the file in its errors
    model = path.read_bytes()
    console.print()
    console.print(styled(path.name), f": {len(graph.operators)} operators", sep="")
    with timed(console, "Import it"):
        mod, params = from_tflite(graph)
    # Before the slow steps, so that a wrong file is reported at once.
    signature = with_input_ranges(mod, signature_of(mod))
    inputs = _inputs(signature, image)
    names = _names(signature, labels)
    library = compile_here(console, mod, params)
    checked = check_and_time(console, model, library, inputs)
    print_checked(console, checked)
    if image and is_classifier(signature.outputs[0]):
        print_guesses(console, best_classes(checked.outputs[0], signature.outputs[0], names))
    return checked


def _inputs(signature: Signature, image: Path | None) -> list[np.ndarray]:
    if image is None:
        return [noise(info) for info in signature.inputs]
    if len(signature.inputs) != 1:
        raise QnnError(f"the model has {len(signature.inputs)} inputs, and a picture is only one")
    (info,) = signature.inputs
    return [Preparation().read(image, info, normalization_of(info))]


def _names(signature: Signature, labels: Path | None) -> tuple[str, ...]:
    if labels is None:
        return ()
    if not is_classifier(signature.outputs[0]):
        raise QnnError("labels are for a classifier, and the model's output is none")
    return read_labels(labels, max(signature.outputs[0].shape))
