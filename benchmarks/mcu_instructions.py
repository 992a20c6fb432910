"""Counts the instructions of an inference on emulated microcontrollers.

python -m benchmarks.mcu_instructions MODEL.tflite... --core cortex-m4 --functions 10 --layers

Models are exported as C, linked into programs without an operating system, and run on QEMU's
boards. A plugin counts the executed instructions, and outputs are compared with those of LiteRT's
reference kernels. Figures are the same each time. They are no times: no board was at hand.

``--beside FOLDER`` also counts other programs for the same models. ``FOLDER/CORE/MODEL`` has the
files of an export to ``FOLDER/CORE/MODEL/model``: ``model.c``, ``model.h`` and ``model.o``. Another
tool may have made them, such as a library of kernels. Their outputs are compared with those here.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Column, Table

from benchmarks.models import inputs_of, models
from benchmarks.report import terminal
from frontends.tflite import from_tflite
from frontends.tflite.file_names import SEMANTICS
from frontends.tflite.source import TFLiteSource
from qnn_ops.errors import QnnError
from tvm_qnn.build import build, export_c
from tvm_qnn.footprint.boards import BOARDS, PLAIN_C_BOARDS, Result, missing, run
from tvm_qnn.footprint.footprint import footprint
from tvm_qnn.footprint.layers import Layer
from tvm_qnn.oracle import litert_tensors

Array = np.ndarray[Any, Any]

_FILES = ("model.c", "model.h", "model.o")
_LISTED = "model.c, model.h and model.o"


@dataclass(frozen=True)
class Options:
    """The counts that are made of each model.

    Attributes:
        functions: number of functions to list.
        layers: whether to list layers.
        semantics: an argument of ``from_tflite``.
        beside: the folder of other programs; None for none.
        plain_c: whether the board's compiler gets plain C.
    """

    functions: int
    layers: bool
    semantics: str
    beside: Path | None
    plain_c: bool


@dataclass(frozen=True)
class Beside:
    """The result of another program for a model.

    Attributes:
        result: the result of its runs.
        different: number of output bytes that differ from those here.
    """

    result: Result
    different: int


def count(
    model: bytes,
    core: str,
    runs: Sequence[Array],
    folder: Path,
    *,
    semantics: str = "litert",
    arena: bool = False,
    ram_limit: int | None = None,
    tells_calls: bool = False,
    plain_c: bool = False,
    level: str = "-Os",
) -> Result:
    """Count the instructions of a model of one input and one output.

    Args:
        model: the contents of a .tflite file.
        core: a name in ``BOARDS``, or for plain C in ``PLAIN_C_BOARDS``.
        runs: the inputs.
        folder: an empty folder for files.
        semantics: an argument of ``from_tflite``.
        arena: whether input and output are in the workspace.
        ram_limit: as ``export_c`` takes it.
        tells_calls: as ``run`` takes it.
        plain_c: whether the board's compiler gets plain C, instead of an object file.
        level: the compiler's optimization flag.

    Raises:
        QnnError: a tool is missing, or an output differs from LiteRT's, or for other semantics from
            the output on this machine.
    """
    mod, params = from_tflite(model, semantics=semantics)
    target = "c" if plain_c else core
    export_c(mod, target, params, folder / "model", arena=arena, ram_limit=ram_limit)
    board = PLAIN_C_BOARDS[core]
    result = run(board, folder, runs, tells_calls=tells_calls, level=level)
    outputs = _litert(model, runs) if semantics == "litert" else _here(mod, params, runs)
    for number, (made, wanted) in enumerate(zip(result.outputs, outputs, strict=True)):
        if made != wanted:
            whose = "LiteRT's" if semantics == "litert" else "that of this machine"
            raise QnnError(f"the output of run {number} on {core} is not {whose}")
    return result


def _litert(model: bytes, runs: Sequence[Array]) -> list[bytes]:
    (output,) = TFLiteSource(model).graph.outputs
    return [litert_tensors(model, [array])[output].tobytes() for array in runs]


def _here(mod: Any, params: Any, runs: Sequence[Array]) -> list[bytes]:
    library = build(mod, "host", params)
    return [library.run(array).tobytes() for array in runs]


def by_layer(model: bytes, core: str, folder: Path) -> list[tuple[Layer, int]]:
    """Count the instructions of each layer that ``tvm-qnn report`` lists.

    Args:
        model: as for ``count``.
        core: as for ``count``.
        folder: as for ``count``.

    Returns:
        The layers and their instructions; each call includes some instructions that report it.
    """
    calls = count(model, core, inputs_of(model), folder, tells_calls=True).calls
    layers = footprint(model, core).layers
    return [(layer, sum(calls[number] for number in layer.calls)) for layer in layers]


def beside(folder: Path, core: str, runs: Sequence[Array], outputs: Sequence[bytes]) -> Beside:
    """Count the instructions of another program of a model.

    Args:
        folder: the folder of its files, like an export to ``folder / "model"``.
        core: a name in ``BOARDS``.
        runs: the inputs.
        outputs: the outputs here.

    Raises:
        QnnError: a file or a tool is missing, or the program fails.
    """
    for name in _FILES:
        if not (folder / name).is_file():
            raise QnnError(f"there is no {folder / name}: a program to count beside has {_LISTED}")
    with tempfile.TemporaryDirectory() as copy:
        for name in _FILES:
            shutil.copy(folder / name, copy)
        result = run(BOARDS[core], Path(copy), runs)
    pairs = [
        (np.frombuffer(made, np.uint8), np.frombuffer(wanted, np.uint8))
        for made, wanted in zip(result.outputs, outputs, strict=True)
    ]
    if any(made.size != wanted.size for made, wanted in pairs):
        raise QnnError(f"{folder / 'model.h'} has outputs of another size")
    return Beside(result, sum(int(np.count_nonzero(a != b)) for a, b in pairs))


def _rows(
    names: Sequence[str], cores: Sequence[str], options: Options
) -> Iterator[tuple[str, ...]]:
    for name, model in models(names):
        macs = TFLiteSource(model).summary("").macs
        for core in cores:
            inputs = inputs_of(model)
            with tempfile.TemporaryDirectory() as folder:
                result = count(
                    *(model, core, inputs, Path(folder)),
                    semantics=options.semantics,
                    plain_c=options.plain_c,
                )
            yield _row(name, core, result, macs)
            for function, share in [*result.functions.items()][: options.functions]:
                yield f"  {function}", "", f"{share:,}", "", "", "", ""
            if options.layers:
                with tempfile.TemporaryDirectory() as folder:
                    told = by_layer(model, core, Path(folder))
                for layer, share in told:
                    product = f"{share / layer.macs:.2f}" if layer.macs else ""
                    yield f"  {layer.name}", layer.code, f"{share:,}", product, "", "", ""
            if options.beside:
                other = beside(options.beside / core / name, core, inputs, result.outputs)
                ratio = result.instructions[0] / other.result.instructions[0]
                text = f"  beside: {ratio:.2f} of it; {other.different} bytes differ"
                yield _row(text, core, other.result, macs)


def _row(name: str, core: str, result: Result, macs: int) -> tuple[str, ...]:
    total = result.instructions[0]
    sizes = result.code, result.constants, result.stack
    return name, core, f"{total:,}", f"{total / macs:.2f}", *(f"{each:,}" for each in sizes)


@click.command()
@click.argument("names", metavar="MODEL...", nargs=-1, required=True)
@click.option("--core", "cores", multiple=True, type=click.Choice(list(PLAIN_C_BOARDS)))
@click.option("--functions", default=0, show_default=True, help="How many to list, the first ones.")
@click.option("--layers", is_flag=True, help="List the layers of `tvm-qnn report`.")
@click.option("--plain-c", is_flag=True, help="Give the board's compiler plain C.")
@click.option("--reference", "semantics", default=SEMANTICS[0], type=click.Choice(SEMANTICS))
@click.option(
    "--beside",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Count other programs, too: of each model and core in FOLDER/CORE/MODEL.",
    metavar="FOLDER",
)
def main(names: Sequence[str], cores: Sequence[str], **options: Any) -> None:
    """Count the instructions of one inference of each MODEL, a file or a network of the zoo."""
    chosen = cores or [core for core, board in BOARDS.items() if not missing(board.family)]
    reasons = [reason for core in chosen if (reason := missing(PLAIN_C_BOARDS[core].family))]
    if reasons or not chosen:
        raise click.ClickException(reasons[0] if reasons else str(missing()))
    head = ("model", "core", "instructions", "a product", "code", "constants", "stack")
    table = Table(Column(head[0], overflow="fold"), head[1])
    for name in head[2:]:
        table.add_column(name, justify="right")
    try:
        for row in _rows(names, chosen, Options(**options)):
            table.add_row(*map(escape, row))
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    terminal().print(table)


if __name__ == "__main__":
    main()
