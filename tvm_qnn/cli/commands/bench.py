"""`tvm-qnn bench`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tvm_qnn.cli.commands.options import ModelFile, json_option, model_argument, print_json
from tvm_qnn.cli.commands.run import library_of

OURS, LITERT = "tvm-qnn", "LiteRT (XNNPACK)"


@click.command()
@model_argument
@click.option(
    "--rounds", default=30, show_default=True, type=click.IntRange(min=1), help="Runs to time."
)
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many threads to use.",
)
@json_option
def bench(
    model: ModelFile,
    rounds: int,
    threads: int,
    as_json: bool,
) -> None:
    """Time MODEL, a library or a model file, with noise as its input.

    A .tflite model is timed in turn with LiteRT on the same threads, where LiteRT is installed.
    One thread is kept on one core. More peers: `make bench` in the project's repository.
    """
    from contextlib import nullcontext

    from tvm_qnn.io.images import noise
    from tvm_qnn.io.text import visible
    from tvm_qnn.timing import alternate, one_core

    library = library_of(model, threads)
    inputs = [noise(info) for info in library.inputs]
    programs: dict[str, Callable[[], object]] = {OURS: library.prepare(*inputs)}
    peers, absent = _peers(model.path, inputs, threads)
    programs |= peers
    with one_core() if threads == 1 else nullcontext():
        timings = alternate(programs, rounds)
    if as_json:
        reasons = {name: {"absent": reason} for name, reason in absent.items()}
        print_json({name: _figures(timing) for name, timing in timings.items()} | reasons)
        return
    for name, reason in absent.items():
        click.echo(f"Without {name}: {visible(reason)}", err=True)
    from tvm_qnn.demo.report import times_table
    from tvm_qnn.io.terminal import Terminal

    runs = len(timings[OURS].seconds)
    title = f"{model.path.name}, {threads} thread{'s' * (threads > 1)}, {runs} runs of each in turn"
    Terminal().print(times_table(title, timings))


def _peers(
    model: Path, inputs: list[Any], threads: int
) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """Return the other programs to time, and why the rest is not timed, by name."""
    from qnn_ops.errors import QnnError
    from tvm_qnn.cli.model_files import is_tflite
    from tvm_qnn.io.steps import native_code_is_quiet
    from tvm_qnn.oracle import LiteRtSession

    if not is_tflite(model):
        return {}, {}
    try:
        with native_code_is_quiet():
            session = LiteRtSession(model.read_bytes(), threads)
    except QnnError as error:
        return {}, {LITERT: str(error)}
    return {LITERT: session.prepare(inputs)}, {}


def _figures(timing: Any) -> dict[str, Any]:
    return {
        "median_seconds": timing.median,
        "minimum_seconds": timing.minimum,
        "maximum_seconds": timing.maximum,
        "runs": len(timing.seconds),
    }
