"""Measurements as a table on the terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE
from rich.table import Table

from benchmarks.machine import Setting
from tvm_qnn.json_text import to_json
from tvm_qnn.timing import Timing, milliseconds

OURS, PEER = "tvm-qnn", "LiteRT"
NOTE = (
    "Milliseconds: the median of the runs (the fastest–the slowest). "
    "× LiteRT: how many times as fast as it tvm-qnn is."
)


@dataclass(frozen=True)
class Measurement:
    """What was measured of one model.

    Attributes:
        model: its name.
        import_seconds: from the file's contents to a module.
        build_seconds: from there to a library.
        exact: whether the library's outputs equal those of LiteRT's reference kernels.
        timings: of one run, by program; OURS and PEER are among them.
    """

    model: str
    import_seconds: float
    build_seconds: float
    exact: bool
    timings: dict[str, Timing]

    def ratio(self, peer: str) -> float:
        """How many times as fast as a peer tvm-qnn is, median by median."""
        return self.timings[peer].median / self.timings[OURS].median

    def to_json(self) -> dict[str, object]:
        """Every figure."""
        return {
            "model": self.model,
            "import_seconds": self.import_seconds,
            "build_seconds": self.build_seconds,
            "exact": self.exact,
            "seconds": {name: timing.seconds for name, timing in self.timings.items()},
        }


def rows(measurements: Sequence[Measurement]) -> tuple[list[str], list[list[str]]]:
    """The table's head and its rows, as text: medians in milliseconds, with the extremes."""
    programs = list(measurements[0].timings)
    head = ["model", "import s", "build s", "exact"]
    head += [f"{name} ms" for name in programs] + [f"× {PEER}"]
    body = [
        [
            item.model,
            f"{item.import_seconds:.1f}",
            f"{item.build_seconds:.1f}",
            "yes" if item.exact else "NO",
            *(_times(item.timings[name]) for name in programs),
            f"{item.ratio(PEER):.2f}",
        ]
        for item in measurements
    ]
    return head, body


def as_table(measurements: Sequence[Measurement]) -> Table:
    """The table for a terminal, narrow: names and extremes on lines of their own."""
    head, body = rows(measurements)
    table = Table(caption=NOTE, caption_justify="left", box=SIMPLE, padding=0)
    for index, column in enumerate(head):
        table.add_column(column.replace(" ", "\n"), justify="right" if index else "left")
    for row in body:
        table.add_row(*(cell.replace(" ", "\n") for cell in row))
    return table


def as_markdown(measurements: Sequence[Measurement], setting: Setting) -> str:
    """The table in Markdown, below what it was measured on."""
    head, body = rows(measurements)
    rule = ["---", *(["---:"] * (len(head) - 1))]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *body])
    return f"{'; '.join(setting.lines())}. {NOTE}\n\n{table}\n"


def as_json(measurements: Sequence[Measurement], setting: Setting) -> str:
    """Everything that was measured, every single run."""
    results = [item.to_json() for item in measurements]
    return to_json({"setting": setting.to_json(), "results": results}, indent=2) + "\n"


def _times(timing: Timing) -> str:
    low, high = milliseconds(timing.minimum, 2), milliseconds(timing.maximum, 2)
    return f"{milliseconds(timing.median)} ({low}–{high})"
