"""Times tvm-qnn and LiteRT on quantized TFLite models, in turn, on one thread of one core.

python -m benchmarks.bench_tflite                        # models of the zoo
python -m benchmarks.bench_tflite inception_v3:int8 my_model.tflite --markdown table.md
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from benchmarks.machine import setting
from benchmarks.report import OURS, PEER, Measurement, as_json, as_markdown, as_table
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from qnn_ops.signature import TensorInfo
from tvm_qnn import zoo
from tvm_qnn.build import build
from tvm_qnn.images import noise
from tvm_qnn.library import Library
from tvm_qnn.oracle import LiteRtSession, litert_tensors
from tvm_qnn.outputs import write_text
from tvm_qnn.steps import step
from tvm_qnn.timing import alternate, one_core
from tvm_qnn.zoo import images

Array = np.ndarray[Any, Any]

DEFAULT = ("inception_v3", "mobilenet_v1", "mobilenet_v2")


def models(arguments: Sequence[str]) -> Iterator[tuple[str, bytes, bool]]:
    """Name, contents and whether it is of the zoo, of each model that is asked for.

    An argument is a .tflite file, a network of the zoo in one style, as "inception_v3:int8", or
    in all styles, as "inception_v3".

    Raises:
        QnnError: if an argument is neither, before any model is made.
    """
    for argument in arguments:
        if argument.partition(":")[0] not in zoo.NAMES and not Path(argument).is_file():
            raise QnnError(
                f"{argument} is neither a file nor a network of the zoo ({', '.join(zoo.NAMES)})"
            )
    return (each for argument in arguments for each in _of_argument(argument))


def _of_argument(argument: str) -> Iterator[tuple[str, bytes, bool]]:
    name, _, style = argument.partition(":")
    if name not in zoo.NAMES:
        yield Path(argument).stem, Path(argument).read_bytes(), False
        return
    for one in [style] if style else zoo.STYLES:
        yield f"{name} {one}", zoo.build(name, one), True


def measure(name: str, model: bytes, inputs: Sequence[Array], rounds: int) -> Measurement:
    """Import, build, check and time one model, and time LiteRT on it.

    Args:
        name: for the table.
        model: the contents of the .tflite file.
        inputs: one array for each of its inputs.
        rounds: how many times each program runs it.
    """
    start = time.perf_counter()
    graph = read_model(model)
    mod, params = from_tflite(graph)
    imported = time.perf_counter()
    library = build(mod, "host", params)
    built = time.perf_counter()
    expected = litert_tensors(model, inputs)
    results = library.run(*inputs)
    outputs = list(results.values()) if isinstance(results, dict) else [results]
    exact = all(map(np.array_equal, outputs, (expected[index] for index in graph.outputs)))
    return Measurement(
        name, imported - start, built - imported, exact, _timings(model, library, inputs, rounds)
    )


def _timings(model: bytes, library: Library, inputs: Sequence[Array], rounds: int) -> Any:
    with one_core():
        return alternate(
            {
                OURS: library.prepare(*inputs),
                PEER: LiteRtSession(model).prepare(inputs),
                "LiteRT built-in": LiteRtSession(model, xnnpack=False).prepare(inputs),
            },
            rounds,
        )


def _inputs(model: bytes, of_zoo: bool) -> list[Array]:
    graph = read_model(model)
    tensors = [graph.tensors[index] for index in graph.inputs]
    if of_zoo:
        (picture,) = tensors
        return [images.as_input(images.picture(0, picture.shape[1]), picture.dtype)[None]]
    return [noise(TensorInfo(t.name, tuple(t.shape), t.dtype)) for t in tensors]


@click.command()
@click.argument("arguments", metavar="[MODEL]...", nargs=-1)
@click.option("--rounds", default=30, show_default=True, type=click.IntRange(min=1))
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the table here, too.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all figures.")
def main(
    arguments: tuple[str, ...], rounds: int, markdown: Path | None, json_file: Path | None
) -> None:
    """Time tvm-qnn and LiteRT on MODELs: .tflite files, or networks of the zoo.

    LiteRT runs with XNNPACK's kernels, its default, and with its own built-in ones. One thread,
    one core, in turn; the table has medians.
    """
    console, about = Console(highlight=False), setting()
    measurements = []
    try:
        for name, model, of_zoo in models(arguments or DEFAULT):
            with step(console, name):
                measurements.append(measure(name, model, _inputs(model, of_zoo), rounds))
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    console.print(as_table(measurements))
    for line in about.lines():
        console.print(line)
    if markdown:
        write_text(markdown, as_markdown(measurements, about))
    if json_file:
        write_text(json_file, as_json(measurements, about))


if __name__ == "__main__":
    main()
