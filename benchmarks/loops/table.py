"""The table of loops and processors, and the command that prints it."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import click
import tvm

from benchmarks.loops.assembly import Dialect, Loop, loops
from benchmarks.loops.mca import analyze, find_mca
from benchmarks.report import as_table, markdown_table, terminal
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import write_text
from tvm_qnn.target.target import parse_target

HEAD = [
    "loop",
    "processor",
    "instructions",
    "cycles",
    "IPC",
    "products/cycle",
    "busiest unit",
    "peak",
]
EXPLANATION = (
    "Instructions and cycles of one round; products of bytes a cycle; for how much of the time the "
    "unit that has most to do is busy; and how much of the time the instructions of the sums would "
    "take by themselves (peak)."
)

Isa = TypeVar("Isa")


@dataclass(frozen=True)
class Processor(Generic[Isa]):
    """LLVM's model of a processor, and the code that the processor runs.

    Attributes:
        name: for the table.
        mcpu: LLVM's name of the processor.
        isa: the instruction set of the kernels.
        target: the kernels' target, an argument of ``parse_target``.
    """

    name: str
    mcpu: str
    isa: Isa
    target: str


@dataclass(frozen=True)
class Kernel(Generic[Isa]):
    """A loop of a compiled function, on some processors.

    Attributes:
        name: for the table.
        function: builds the function for an instruction set.
        measure: a figure of a loop; the loop with the largest figure is chosen.
        processors: the processors that run it.
    """

    name: str
    function: Callable[[Isa], Any]
    measure: Callable[[Loop], int]
    processors: Sequence[Processor[Isa]]


@dataclass(frozen=True)
class Suite(Generic[Isa]):
    """The table of an architecture.

    Attributes:
        dialect: the syntax of its assembly.
        products: counts the products of one round of a loop.
        sums: returns the instructions of a loop that multiply and add up products.
        kernels: the loops.
        note: a supplement of ``EXPLANATION`` for this table.
    """

    dialect: Dialect
    products: Callable[[Loop], int]
    sums: Callable[[Loop], list[str]]
    kernels: Sequence[Kernel[Isa]]
    note: str = ""

    @property
    def explanation(self) -> str:
        """The meaning of the columns."""
        return f"{EXPLANATION} {self.note}".rstrip()


def rows(suite: Suite[Any], mca: str, folder: Path) -> Iterator[list[str]]:
    """Yield the lines of the table.

    Args:
        suite: the loops.
        mca: the path of llvm-mca.
        folder: the folder for files.
    """

    @cache
    def found_in(function: Callable[[Any], Any], processor: Processor[Any]) -> list[Loop]:
        library = tvm.compile(function(processor.isa), target=parse_target(processor.target))
        return loops(library.mod.inspect_source("asm"), suite.dialect)

    for kernel in suite.kernels:
        for processor in kernel.processors:
            loop = max(found_in(kernel.function, processor), key=kernel.measure)
            model = mca, suite.dialect.triple, processor.mcpu
            found = analyze(*model, loop.own, folder)
            speed = peak = "–"
            if products := suite.products(loop):
                alone = analyze(*model, suite.sums(loop), folder).busiest
                speed = f"{products / found.cycles:.1f}"
                peak = f"{100 * alone / found.cycles:.0f} %"
            yield [
                kernel.name,
                processor.name,
                str(found.instructions),
                f"{found.cycles:.1f}",
                f"{found.instructions / found.cycles:.2f}",
                speed,
                f"{100 * found.busiest / found.cycles:.0f} %",
                peak,
            ]


def command(suite: Suite[Any], about: str | None) -> click.Command:
    """Return the command that prints a table.

    Args:
        suite: its loops.
        about: the command's help.
    """

    @click.command(help=about)
    @click.option(
        "--markdown", type=click.Path(path_type=Path), help="Write the table to this file, too."
    )
    def main(markdown: Path | None) -> None:
        """Run from the command line."""
        console = terminal()
        try:
            with tempfile.TemporaryDirectory(prefix="tvm-qnn-loops-") as folder:
                body = list(rows(suite, find_mca(), Path(folder)))
        except QnnError as error:
            raise click.ClickException(str(error)) from error
        console.print(as_table(HEAD, body, "loops"))
        console.print(suite.explanation)
        if markdown:
            text = f"{suite.explanation}\n\n{markdown_table(HEAD, body)}"
            write_text(markdown, text)

    return main
