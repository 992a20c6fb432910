"""Reports of executed instructions: tables on the terminal, Markdown and JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.arm.counting import CLASSES, Counts
from benchmarks.machine import Setting
from benchmarks.report import as_json, difference_text, markdown, markdown_table

OURS = "tvm-qnn"
PRODUCTS_OF_DOT = 16  # of bytes, in one sdot

ROWS = ["all, millions", "ratio", "outputs differ by", "dot products, %", "× least", *CLASSES]
"""The rows of a table with a column for each program; classes are counted in millions."""

EXPLANATION = (
    "Millions of instructions of one inference, one thread, after a first one; in brackets "
    "the number of tvm-qnn divided by the program's (below 1 tvm-qnn executes fewer). They are "
    "counted under QEMU, and are no times."
)


@dataclass(frozen=True)
class Measured:
    """The instructions of one program for one model on one processor.

    Attributes:
        program: the program's name.
        counts: the counts of one run.
        products: number of products of inputs and weights in one run, from the model.
        difference: the largest difference of outputs from those of LiteRT's reference kernels; None
            if their shapes differ.
        functions: instructions by function, if requested.
    """

    program: str
    counts: Counts
    products: int
    difference: float | None
    functions: dict[str, int]

    @property
    def least(self) -> float:
        """The number of instructions divided by the least number of dot products."""
        return self.counts.total / max(self.products / PRODUCTS_OF_DOT, 1)


@dataclass(frozen=True)
class Comparison:
    """The instructions of all programs for one model on one processor.

    Attributes:
        model: the model's name.
        core: the processor.
        programs: tvm-qnn first.
    """

    model: str
    core: str
    programs: list[Measured]

    def ratio(self, program: Measured) -> float:
        """Divide the instructions of tvm-qnn by the program's."""
        return self.programs[0].counts.total / program.counts.total


def detail_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of one model on one processor."""
    head = ["instructions", *(one.program for one in comparison.programs)]
    columns = [_column(comparison, one) for one in comparison.programs]
    return head, [list(row) for row in zip(ROWS, *columns, strict=True)]


def _column(comparison: Comparison, one: Measured) -> list[str]:
    dots = one.counts.classes["dot product"] + one.counts.classes["matrix"]
    return [
        f"{one.counts.total / 1e6:.3f}",
        "–" if one.program == OURS else f"{comparison.ratio(one):.2f}",
        difference_text(one.difference),
        f"{100 * dots / one.counts.total:.0f}",
        f"{one.least:.2f}",
        *(f"{one.counts.classes[name] / 1e6:.3f}" for name in CLASSES),
    ]


def summary_rows(comparisons: Sequence[Comparison]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the summary: millions of instructions, and the ratio in brackets."""
    names = list(dict.fromkeys(one.program for each in comparisons for one in each.programs))
    body = []
    for each in comparisons:
        cells = {one.program: _cell(each, one) for one in each.programs}
        body.append([each.model, each.core, *(cells.get(name, "–") for name in names)])
    return ["model", "processor", *names], body


def _cell(comparison: Comparison, one: Measured) -> str:
    text = f"{one.counts.total / 1e6:#.3g}".rstrip(".")
    return text if one.program == OURS else f"{text} ({comparison.ratio(one):.2f})"


def setting_line(setting: Setting, emulator: str) -> str:
    """Return the line with the tools and the date of the counts."""
    versions = ", ".join(f"{name} {number}" for name, number in setting.versions.items())
    return f"{emulator}; {versions}; {setting.date}"


def as_markdown(comparisons: Sequence[Comparison], setting: Setting, emulator: str) -> str:
    """Return all tables of the terminal as Markdown."""
    parts = [EXPLANATION, markdown_table(*summary_rows(comparisons))]
    for each in comparisons:
        parts += [f"## {each.model}, {each.core}", markdown_table(*detail_rows(each))]
    return markdown([setting_line(setting, emulator)], *parts)


def figures(comparisons: Sequence[Comparison], setting: Setting, emulator: str) -> str:
    """Return all figures as JSON."""
    found = [
        {
            "model": each.model,
            "core": each.core,
            "programs": [_fields(each, one) for one in each.programs],
        }
        for each in comparisons
    ]
    return as_json(setting, emulator=emulator, comparisons=found)


def _fields(comparison: Comparison, one: Measured) -> dict[str, object]:
    return {
        "name": one.program,
        "instructions": one.counts.total,
        "classes": one.counts.classes,
        "products": one.products,
        "ratio": comparison.ratio(one),
        "output_difference": one.difference,
        "functions": one.functions,
    }
