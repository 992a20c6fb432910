"""Networks as plain C, by every compiler, at every level: LiteRT's integers."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from frontends.tflite import from_tflite
from qnn_ops.errors import QnnError
from tests.support.plain_c import WARNINGS
from tests.targets.networks import Network, runs_of
from tvm_qnn.build import export_c
from tvm_qnn.footprint import boards
from tvm_qnn.io.command import call

LEVELS = ("-O0", "-O2", "-Os")
_PROGRAM = ("run_model.c", "host.c")
_BOARDS = ("cortex-m0plus", "cortex-m4", "riscv32", "xtensa")
_BOARD = Path(boards.__file__).parent / "board"


@dataclass(frozen=True)
class Compiler:
    """A compiler, and what runs its programs.

    Attributes:
        name: in the table.
        missing: says what this machine lacks; None for nothing.
        run: compiles an export in a folder and gives the outputs of inputs, at a level.
    """

    name: str
    missing: str | None
    run: Callable[[Path, Sequence[np.ndarray], str], list[bytes]]


@dataclass(frozen=True)
class Cell:
    """What became of a network.

    Attributes:
        network: its name.
        compiler: likewise.
        level: of optimization.
        inputs: how many were tried.
        problem: what is wrong; None for nothing.
        impossible: why the network was not run; None if it was.
    """

    network: str
    compiler: str
    level: str
    inputs: int
    problem: str | None = None
    impossible: str | None = None


def compilers() -> list[Compiler]:
    """Every compiler of the matrix; clang is on the path, or in Python's package of Zig."""
    clang = ["clang"] if shutil.which("clang") else [sys.executable, "-m", "ziglang", "cc"]
    no_gcc = None if shutil.which("gcc") else "no gcc on the path"
    return [
        Compiler("gcc", no_gcc, partial(_here, ["gcc"])),
        Compiler("clang", None, partial(_here, clang)),
        *(Compiler(core, _missing(core), partial(_emulated, core)) for core in _BOARDS),
    ]


def _missing(core: str) -> str | None:
    return boards.missing(boards.PLAIN_C_BOARDS[core].family)


def cells(
    network: Network, tools: Sequence[Compiler], levels: Sequence[str], inputs: int
) -> Iterator[Cell]:
    """Export a network once, and run it by each compiler at each level.

    Args:
        network: which one.
        tools: the compilers.
        levels: of optimization.
        inputs: how many.
    """
    content = network.content()
    mod, params = from_tflite(content)
    given, wanted = runs_of(content, inputs)
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / "export"
        export.mkdir()
        export_c(mod, "c", params, export / "model")
        for tool in tools:
            for level in levels:
                work = Path(folder) / "work"
                shutil.copytree(export, work)
                yield _cell(Cell(network.name, tool.name, level, inputs), tool, work, given, wanted)
                shutil.rmtree(work)


def _cell(
    cell: Cell, tool: Compiler, folder: Path, given: Sequence[np.ndarray], wanted: Sequence[bytes]
) -> Cell:
    named = cell.network, cell.compiler, cell.level, cell.inputs
    try:
        made = tool.run(folder, given, cell.level)
    except QnnError as error:
        why = boards.impossible(error)
        return Cell(*named, problem=None if why else str(error)[-500:], impossible=why)
    differing = sum(a != b for a, b in zip(made, wanted, strict=True))
    return Cell(*named, problem=f"{differing} outputs differ" if differing else None)


def _emulated(core: str, folder: Path, inputs: Sequence[np.ndarray], level: str) -> list[bytes]:
    board = boards.PLAIN_C_BOARDS[core]
    try:
        return boards.run(board, folder, inputs, level=level).outputs
    except QnnError as error:
        if board.family is not boards.ARM or boards.impossible(error) != "no room":
            raise
    return boards.run(replace(boards.LARGE, core=board.core), folder, inputs, level=level).outputs


def _here(
    compiler: Sequence[str], folder: Path, inputs: Sequence[np.ndarray], level: str
) -> list[bytes]:
    objects: list[Path] = []
    for name in ("model.c", "model_weights.c"):
        objects.append(folder / f"{name}.o")
        call([*compiler, *WARNINGS, level, "-c", "-o", objects[-1], folder / name])
    own = [f"-I{_BOARD}", f"-I{folder}", *(str(_BOARD / name) for name in _PROGRAM)]
    program = folder / "program"
    call([*compiler, "-std=gnu11", level, *own, *objects, "-lm", "-o", program])
    (folder / "inputs").write_bytes(b"".join(each.tobytes() for each in inputs))
    call(["env", f"--chdir={folder}", program])
    outputs = (folder / "outputs").read_bytes()
    size = len(outputs) // len(inputs)
    return [outputs[start : start + size] for start in range(0, len(outputs), size)]


def table(found: Sequence[Cell], tools: Sequence[Compiler]) -> str:
    """Return a row for each network, and a column for each compiler.

    Args:
        found: what became of the networks.
        tools: the compilers.
    """
    names = list(dict.fromkeys(cell.network for cell in found))
    rows = [["network", *(tool.name for tool in tools)]]
    for name in names:
        mine = [cell for cell in found if cell.network == name]
        texts = (_text([cell for cell in mine if cell.compiler == tool.name]) for tool in tools)
        rows.append([name, *texts])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _text(mine: Sequence[Cell]) -> str:
    """Say how many levels and inputs are equal, or what is in the way."""
    if not mine:
        return "-"
    if impossible := {cell.impossible for cell in mine if cell.impossible}:
        return ", ".join(sorted(impossible))
    wrong = [cell.level for cell in mine if cell.problem]
    return f"WRONG {' '.join(wrong)}" if wrong else f"{len(mine)} x {mine[0].inputs} equal"
