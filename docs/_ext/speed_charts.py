"""Draws the tables of docs/performance.md as charts, when the documentation is built."""

import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "charts"
MARK = "<!-- charts of speed -->"

OURS = "tvm-qnn"
_MACHINE = re.compile(r"An? (.+?), (?:\w+ \d+, \d{4}, )?commit ")
_RATIO = re.compile(r"[\d.]+ \(([\d.]+)\)")


class Chart(NamedTuple):
    """One machine's times.

    Attributes:
        title: the machine.
        models: the rows.
        times: by program, each model's time divided by tvm-qnn's; None if not known.
    """

    title: str
    models: tuple[str, ...]
    times: dict[str, tuple[float | None, ...]]

    def words(self) -> str:
        """Return a description of the picture, for readers who cannot see it."""
        parts = []
        for program, times in self.times.items():
            known = [time for time in times if time is not None]
            parts.append(f"{program} takes {min(known):.2g} to {max(known):.2g} times as long")
        return f"{self.title}: {' and '.join(parts)} as {OURS}"


def charts(page: str) -> list[Chart]:
    """Return a chart for every three columns of the tables of speed.

    Raises:
        ValueError: if a table has another form.
    """
    section = page.partition("<!-- speed -->")[2].partition("<!-- /speed -->")[0]
    found: list[Chart] = []
    machine = ""
    for paragraph in section.split("\n\n"):
        text = paragraph.strip()
        if named := _MACHINE.match(text.replace("\n", " ")):
            machine = named[1]
        if text.startswith("|"):
            found += _of_table(machine, text)
    if not found or not all(each.title for each in found):
        raise ValueError("performance.md: tables of speed, or the machines above them, are missing")
    return found


def _of_table(machine: str, text: str) -> list[Chart]:
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")
    )
    starts = [place for place, name in enumerate(head) if name.startswith(OURS)]
    found = []
    for start, end in zip(starts, [*starts[1:], len(head)], strict=True):
        how = head[start].removeprefix(OURS)
        programs = {head[place].removesuffix(how): place for place in range(start + 1, end)}
        times = {
            program: tuple(_times(row[place]) for row in rows)
            for program, place in programs.items()
        }
        found.append(Chart(machine + how, tuple(row[0] for row in rows), times))
    return found


def _times(cell: str) -> float | None:
    """Return a program's time divided by ours, from its time and the ratio in brackets."""
    if cell == "–":
        return None
    ratio = _RATIO.fullmatch(cell)
    if ratio is None:
        raise ValueError(f"performance.md: a table of speed has {cell!r}, not a time and a ratio")
    return 1 / float(ratio[1])


def draw(chart: Chart, path: Path) -> None:
    """Draw a chart as a file."""
    from benchmarks.chart import save_bars

    labels = {
        program: ["" if time is None else f"{time:.2g}" for time in times]
        for program, times in chart.times.items()
    }
    unit = f"time as a multiple of {OURS}'s, logarithmic"
    save_bars(
        path,
        chart.title,
        unit,
        chart.models,
        chart.times,
        labels,
        logarithmic=True,
        width=6,  # its texts can be read on a phone
    )


def with_charts(text: str, found: list[Chart]) -> str:
    """Return a page with the charts in place of ``MARK``."""
    lines = (f"![{chart.words()}](charts/{place}.svg)" for place, chart in enumerate(found))
    return text.replace(MARK, "\n\n".join(lines))


def _charts() -> list[Chart]:
    return charts((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))


def _write(_app: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    for place, chart in enumerate(_charts()):
        draw(chart, FOLDER / f"{place}.svg")


def _fill(_app: Any, _page: str, source: list[str]) -> None:
    if MARK in source[0]:
        source[0] = with_charts(source[0], _charts())


def setup(app: Any) -> dict[str, bool]:
    """Register the extension; Sphinx calls this."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}
