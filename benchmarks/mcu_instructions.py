"""Counts the instructions of an inference on emulated microcontrollers.

python -m benchmarks.mcu_instructions MODEL.tflite... --core cortex-m4 --functions 10 --layers

Models are exported as C, linked into programs without an operating system, and run on QEMU's
boards, where a plugin counts what they execute; outputs are compared with those of LiteRT's
reference kernels. Figures are the same each time. They are no times: no board was at hand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from benchmarks.mcu.boards import BOARDS, Result, missing, run
from benchmarks.models import inputs_of, models
from frontends.tflite import from_tflite
from frontends.tflite.source import TFLiteSource
from qnn_ops.errors import QnnError
from tvm_qnn.build import export_c
from tvm_qnn.footprint import Layer, footprint
from tvm_qnn.oracle import litert_tensors

Array = np.ndarray[Any, Any]


def count(
    model: bytes,
    core: str,
    runs: Sequence[Array],
    folder: Path,
    *,
    arena: bool = False,
    ram_limit: int | None = None,
    tells_calls: bool = False,
) -> Result:
    """Count the instructions of a model of one input and one output.

    Args:
        model: the contents of a .tflite file.
        core: a name in ``BOARDS``.
        runs: the inputs.
        folder: for files; must be empty.
        arena: whether input and output lie in the workspace.
        ram_limit: as ``export_c`` takes it.
        tells_calls: as ``run`` takes it.

    Raises:
        QnnError: if a tool is missing, or an output is not LiteRT's.
    """
    mod, params = from_tflite(model)
    export_c(mod, core, params, folder / "model", arena=arena, ram_limit=ram_limit)
    result = run(BOARDS[core], folder, runs, tells_calls=tells_calls)
    for number, (made, array) in enumerate(zip(result.outputs, runs, strict=True)):
        tensors = litert_tensors(model, [array])
        if made != tensors[TFLiteSource(model).graph.outputs[0]].tobytes():
            raise QnnError(f"the output of run {number} on {core} is not LiteRT's")
    return result


def by_layer(model: bytes, core: str, folder: Path) -> list[tuple[Layer, int]]:
    """Count the instructions of each layer that ``tvm-qnn report`` lists.

    Args:
        model: as for ``count``.
        core: likewise.
        folder: likewise.

    Returns:
        The layers, and what they take; some instructions of each call are those that tell of it.
    """
    calls = count(model, core, inputs_of(model), folder, tells_calls=True).calls
    layers = footprint(model, core).layers
    return [(layer, sum(calls[number] for number in layer.calls)) for layer in layers]


def _rows(
    names: Sequence[str], cores: Sequence[str], functions: int, *, layers: bool
) -> Iterator[tuple[str, ...]]:
    for name, model in models(names):
        macs = TFLiteSource(model).summary("").macs
        for core in cores:
            with tempfile.TemporaryDirectory() as folder:
                result = count(model, core, inputs_of(model), Path(folder))
            total = result.instructions[0]
            sizes = result.code, result.constants, result.stack
            figures = (f"{total:,}", f"{total / macs:.2f}", *(f"{each:,}" for each in sizes))
            yield name, core, *figures
            for function, share in [*result.functions.items()][:functions]:
                yield f"  {function}", "", f"{share:,}", "", "", "", ""
            if layers:
                with tempfile.TemporaryDirectory() as folder:
                    told = by_layer(model, core, Path(folder))
                for layer, share in told:
                    product = f"{share / layer.macs:.2f}" if layer.macs else ""
                    yield f"  {layer.name}", layer.code, f"{share:,}", product, "", "", ""


@click.command()
@click.argument("names", metavar="MODEL...", nargs=-1, required=True)
@click.option("--core", "cores", multiple=True, type=click.Choice(list(BOARDS)))
@click.option("--functions", default=0, show_default=True, help="How many to list, the first ones.")
@click.option("--layers", is_flag=True, help="List the layers of `tvm-qnn report`.")
def main(names: Sequence[str], cores: Sequence[str], functions: int, layers: bool) -> None:
    """Count the instructions of one inference of each MODEL, a file or a network of the zoo."""
    if reason := missing():
        raise click.ClickException(reason)
    head = ("model", "core", "instructions", "a product", "code", "constants", "stack")
    table = Table(Column(head[0], overflow="fold"), head[1])
    for name in head[2:]:
        table.add_column(name, justify="right")
    try:
        for row in _rows(names, cores or list(BOARDS), functions, layers=layers):
            table.add_row(*map(escape, row))
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    Console().print(table)


if __name__ == "__main__":
    main()
