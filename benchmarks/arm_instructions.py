"""Counts the instructions of an inference on emulated ARM processors, by class.

python -m benchmarks.arm_instructions                      # models of the zoo, three processors
python -m benchmarks.arm_instructions my_model.tflite --core cortex-a72 --functions 10

LiteRT's own build for aarch64 is counted, too, if .ci/install-arm-python has installed it. All
outputs are compared with those of LiteRT's reference kernels on this machine.

No ARM hardware is involved: QEMU runs the programs, and a plugin counts their instructions, so the
figures are the same each time. They are no times: a processor executes some instructions in pairs
and waits for others.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.arm.counting import build_plugin, tool
from benchmarks.arm.ours import count_ours, functions, link
from benchmarks.arm.peer import RESOLVERS, count_litert, is_installed
from benchmarks.arm.report import (
    EXPLANATION,
    OURS,
    Comparison,
    Measured,
    as_markdown,
    detail_rows,
    figures,
    setting_line,
    summary_rows,
)
from benchmarks.machine import setting
from benchmarks.models import inputs_of, models
from benchmarks.report import as_table, largest_difference, terminal
from frontends.tflite.source import TFLiteSource
from qnn_ops.errors import QnnError
from tvm_qnn.io.command import call
from tvm_qnn.io.outputs import write_text
from tvm_qnn.io.progress import timed
from tvm_qnn.oracle import litert_tensors

Array = np.ndarray[Any, Any]

DEFAULT = (
    *("inception_v3:int8_per_axis", "mobilenet_v1:int8_per_axis", "mobilenet_v1:uint8"),
    *("mobilenet_v2:int8_per_axis", "mobilenet_v2:uint8"),
)
CORES = {
    "cortex-a72": "aarch64",
    "cortex-a76": "aarch64-dotprod",
    "max,sme=off": "aarch64-i8mm",
}
"""The targets, by QEMU's names of the processors."""

INSTALLED = Path(sys.prefix, "arm")
"""The folder in which .ci/install-arm-python installs Python for aarch64."""

RUNS = 2  # the second run is counted: the first one maps memory


def products(model: bytes) -> int:
    """Count the products of inputs and weights in one inference."""
    return TFLiteSource(model).summary("").macs


def compare(
    name: str, model: bytes, cores: Sequence[str], *, profile: bool
) -> Iterator[Comparison]:
    """Count the instructions of all programs for one model, processor by processor.

    Args:
        name: the model's name in tables.
        model: the contents of a .tflite file.
        cores: keys of ``CORES``.
        profile: whether to count tvm-qnn's instructions by function, too.
    """
    inputs, work = inputs_of(model), products(model)
    tensors = litert_tensors(model, inputs)
    expected = [tensors[index] for index in TFLiteSource(model).graph.outputs]
    for core in cores:
        with tempfile.TemporaryDirectory(prefix="tvm-qnn-arm-") as place:
            folder = Path(place)
            plugin = build_plugin(folder)
            file = folder / "model.tflite"
            file.write_bytes(model)
            files = write_inputs(inputs, folder)
            program = link(model, CORES[core], folder)
            counts, outputs = count_ours(program, core, plugin, files, RUNS, profile=profile)
            split = functions(program, counts) if profile else {}
            difference = largest_difference(outputs, expected)
            found = [Measured(OURS, counts, work, difference, split)]
            for peer, resolver in RESOLVERS.items() if is_installed(INSTALLED) else ():
                counts, outputs = count_litert(INSTALLED, core, resolver, plugin, file, files, RUNS)
                difference = largest_difference(outputs, expected)
                found.append(Measured(peer, counts, work, difference, {}))
        yield Comparison(name, _title(core), found)


def write_inputs(inputs: Sequence[Array], folder: Path) -> list[Path]:
    """Write a file of raw elements for each array."""
    files = [folder / f"input{number}.bin" for number in range(len(inputs))]
    for file, array in zip(files, inputs, strict=True):
        file.write_bytes(array.tobytes())
    return files


def _title(core: str) -> str:
    return core.split(",")[0]


@click.command(help=__doc__)
@click.argument("arguments", metavar="[MODEL]...", nargs=-1)
@click.option(
    "--core",
    "cores",
    multiple=True,
    type=click.Choice([_title(core) for core in CORES]),
    help="Only on this processor; can be given again.",
)
@click.option("--functions", "most", default=0, help="List so many functions of tvm-qnn, too.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the tables to this file.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all figures.")
def main(
    arguments: Sequence[str],
    cores: Sequence[str],
    most: int,
    markdown: Path | None,
    json_file: Path | None,
) -> None:
    """Run from the command line."""
    console = terminal()
    chosen = [core for core in CORES if not cores or _title(core) in cores]
    comparisons: list[Comparison] = []
    try:
        named = models(arguments or DEFAULT)
        about = setting(), call([tool("qemu-aarch64"), "--version"]).splitlines()[0]
        for name, model in named:
            found = compare(name, model, chosen, profile=most > 0)
            for core in chosen:
                with timed(console, f"{name}, {_title(core)}"):
                    comparisons.append(next(found))
                title = f"{name}, {_title(core)}"
                console.print(as_table(*detail_rows(comparisons[-1]), title))
                for line in _function_lines(comparisons[-1].programs[0], most):
                    console.print(line)
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    console.print(as_table(*summary_rows(comparisons), "all"))
    console.print(EXPLANATION)
    console.print(setting_line(*about))
    if markdown:
        write_text(markdown, as_markdown(comparisons, *about))
    if json_file:
        write_text(json_file, figures(comparisons, *about))


def _function_lines(measured: Measured, most: int) -> list[str]:
    return [
        f"{spent / 1e6:9.3f} M {100 * spent / measured.counts.total:3.0f} %  {function}"
        for function, spent in list(measured.functions.items())[:most]
    ]


if __name__ == "__main__":
    main()
