"""Counts the instructions of an inference on emulated ARM processors, by class.

python -m benchmarks.arm_instructions                      # MobileNet V2 on three processors
python -m benchmarks.arm_instructions my_model.tflite --core cortex-a72 --functions 10

LiteRT's own build for aarch64 is counted beside it where .ci/install-arm-python has put it.

There is no ARM hardware behind this: QEMU runs the programs, and a plugin counts what they
execute, so the figures are the same each time. They are no times: a processor takes some
instructions in pairs and waits for others.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from benchmarks.arm.counting import CLASSES, Counts, build_plugin, by_function, call, count, tool
from benchmarks.arm.peer import RESOLVERS, count_litert, is_installed
from benchmarks.bench_peers import inputs_of
from benchmarks.bench_tflite import models
from benchmarks.race_report import as_table, markdown_table
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from tvm_qnn.build import build
from tvm_qnn.profile.work import operations

Array = np.ndarray[Any, Any]

DEFAULT = ("mobilenet_v2:int8_per_axis", "mobilenet_v2:uint8")
TRIPLE = "aarch64-linux-gnu"
CORES = {
    "cortex-a72": "aarch64",
    "cortex-a76": "aarch64-dotprod",
    "max,sme=off": "aarch64-i8mm",
}
"""The targets for the processors as QEMU names them."""

INSTALLED = Path(sys.prefix, "arm")
"""Where .ci/install-arm-python is to put Python for aarch64."""

PRODUCTS_OF_DOT = 16  # of bytes, in one sdot
RUNS = 2  # the second is counted: the first one maps memory

ROWS = ["all, millions", "dot products, %", "× least", *CLASSES]
"""What a table tells of each program; the classes in millions."""


@dataclass(frozen=True)
class Measured:
    """The instructions of one program for one model on one processor.

    Attributes:
        model: its name.
        core: the processor, a key of ``CORES``.
        program: who computed.
        counts: of one run.
        products: of inputs and weights in one run, as the model states them.
        functions: instructions by function, where they were asked for.
    """

    model: str
    core: str
    program: str
    counts: Counts
    products: int
    functions: dict[str, int]

    @property
    def least(self) -> float:
        """How often the least number of dot product instructions would fit."""
        return self.counts.total / max(self.products / PRODUCTS_OF_DOT, 1)

    def column(self) -> list[str]:
        """Its figures, as ``ROWS`` says."""
        dots = self.counts.classes["dot product"] + self.counts.classes["matrix"]
        return [
            f"{self.counts.total / 1e6:.3f}",
            f"{100 * dots / self.counts.total:.0f}",
            f"{self.least:.2f}",
            *(f"{self.counts.classes[name] / 1e6:.3f}" for name in CLASSES),
        ]


def products(model: bytes) -> int:
    """The products of inputs and weights in one inference."""
    graph = read_model(model)
    return sum(operations(graph, operator) for operator in graph.operators) // 2


def measure(
    name: str, model: bytes, core: str, plugin: Path, folder: Path, *, functions: bool
) -> Measured:
    """Count the instructions of tvm-qnn.

    Args:
        name: of the model.
        model: the contents of a .tflite file.
        core: a key of ``CORES``.
        plugin: from ``build_plugin``.
        folder: for files in between.
        functions: whether to count them one by one, too.
    """
    mod, params = from_tflite(model)
    build(mod, CORES[core], params).export(folder / "model", format="c")
    program = folder / "model"
    sources = [Path(__file__).with_name("arm") / "count_main.c", *folder.glob("model.[co]")]
    compiler = tool(f"{TRIPLE}-gcc")
    call([compiler, "-O2", "-static", f"-I{folder}", "-o", program, *sources, "-lm"])
    files = write_inputs(model, folder)
    emulator = [tool("qemu-aarch64"), "-cpu", core]
    counts = count(plugin, emulator, [program, *files, str(RUNS)], profile=functions)
    split = by_function(f"{TRIPLE}-nm", program, counts) if functions else {}
    return Measured(name, core, "tvm-qnn", counts, products(model), split)


def write_inputs(model: bytes, folder: Path) -> list[Path]:
    """A file of raw elements for each input of a model."""
    files = []
    for number, array in enumerate(inputs_of(model)):
        files.append(folder / f"input{number}.bin")
        files[-1].write_bytes(array.tobytes())
    return files


def measure_litert(
    name: str, model: bytes, core: str, plugin: Path, folder: Path, installed: Path
) -> list[Measured]:
    """Count the instructions of LiteRT with each choice of kernels.

    Args:
        name: of the model.
        model: the contents of a .tflite file.
        core: a key of ``CORES``.
        plugin: from ``build_plugin``.
        folder: for files in between.
        installed: where .ci/install-arm-python has put LiteRT.
    """
    file = folder / "model.tflite"
    file.write_bytes(model)
    inputs = write_inputs(model, folder)
    return [
        Measured(
            name,
            core,
            program,
            count_litert(installed, core, resolver, plugin, file, inputs, RUNS),
            products(model),
            {},
        )
        for program, resolver in RESOLVERS.items()
    ]


@click.command(help=__doc__)
@click.argument("arguments", metavar="[MODEL]...", nargs=-1)
@click.option(
    "--core",
    "cores",
    multiple=True,
    type=click.Choice([name.split(",")[0] for name in CORES]),
    help="Only on this processor; can be given again.",
)
@click.option("--functions", type=int, default=0, help="List so many functions of tvm-qnn, too.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables to this file.")
def main(
    arguments: Sequence[str], cores: Sequence[str], functions: int, markdown: Path | None
) -> None:
    """Run from the command line."""
    console = Console()
    parts = []
    try:
        for name, model, _ in models(arguments or DEFAULT):
            for core in CORES:
                title = core.split(",")[0]
                if cores and title not in cores:
                    continue
                found = _measure_on(core, name, model, functions=functions > 0)
                head = ["instructions", *(one.program for one in found)]
                columns = [one.column() for one in found]
                rows = [list(row) for row in zip(ROWS, *columns, strict=True)]
                console.print(as_table(head, rows, f"{name}, {title}"))
                for line in _function_lines(found[0], functions):
                    console.print(line)
                parts += [f"## {name}, {title}", markdown_table(head, rows)]
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    if markdown:
        markdown.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _measure_on(core: str, name: str, model: bytes, *, functions: bool) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-arm-") as place:
        folder = Path(place)
        plugin = build_plugin(folder)
        found = [measure(name, model, core, plugin, folder, functions=functions)]
        if is_installed(INSTALLED):
            found += measure_litert(name, model, core, plugin, folder, INSTALLED)
        return found


def _function_lines(measured: Measured, most: int) -> list[str]:
    return [
        f"{spent / 1e6:9.3f} M {100 * spent / measured.counts.total:3.0f} %  {function}"
        for function, spent in list(measured.functions.items())[:most]
    ]


if __name__ == "__main__":
    main()
