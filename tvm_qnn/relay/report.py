"""The result of an executor's ``profile``: the time of each function in a run."""

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tvm_qnn.io.text import to_json
from tvm_qnn.library.watch import Call

_DEVICE = "cpu0"
_HEADS = ("Name", "Duration (us)", "Percent", "Device", "Count")


class Duration(NamedTuple):
    """A time."""

    microseconds: float


class Ratio(NamedTuple):
    """A part of a whole, in percent."""

    ratio: float


class Report:
    """The functions of a run, and the time of each.

    Attributes:
        calls: in the order of a run; each is a dict with "Name", "Duration (us)" (its
            ``microseconds``), "Percent" (its ``ratio``), "Device" and "Count".
        device_metrics: the totals of the run, by device.
    """

    def __init__(self, runs: Sequence[Sequence[Call]]) -> None:
        """Take the median of each call over some runs."""
        seconds = [
            statistics.median(each[1] for each in calls) for calls in zip(*runs, strict=True)
        ]
        total = sum(seconds) or 1.0
        self.calls: list[dict[str, Any]] = [
            _row(name, 1e6 * spent, 100 * spent / total, 1)
            for (name, _), spent in zip(runs[0], seconds, strict=True)
        ]
        self.device_metrics = {_DEVICE: _row("Total", 1e6 * total, 100.0, len(seconds))}

    def csv(self) -> str:
        """Return the calls as comma-separated values."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(_HEADS)
        writer.writerows(map(_cells, self.calls))
        return text.getvalue()

    def json(self) -> str:
        """Return calls and totals as JSON."""
        calls = [dict(zip(_HEADS, _cells(call), strict=True)) for call in self.calls]
        totals = {
            name: dict(zip(_HEADS, _cells(row), strict=True))
            for name, row in self.device_metrics.items()
        }
        return to_json({"calls": calls, "device_metrics": totals})

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Return the report as text.

        Args:
            sort: whether the slowest comes first; otherwise in the order of the run.
            aggregate: whether calls of one function are added up.
            col_sums: whether the last line has the totals.
        """
        rows = _joined(self.calls) if aggregate else self.calls
        if sort:
            rows = sorted(rows, key=lambda call: -call["Duration (us)"].microseconds)
        shown = [*rows, *(self.device_metrics.values() if col_sums else ())]
        lines = [_HEADS, *([_shown(cell) for cell in _cells(row)] for row in shown)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                [line[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
            )
            for line in lines
        )

    def __str__(self) -> str:
        return self.table()


def _row(name: str, microseconds: float, percent: float, count: int) -> dict[str, Any]:
    values = (name, Duration(microseconds), Ratio(percent), _DEVICE, count)
    return dict(zip(_HEADS, values, strict=True))


def _cells(row: dict[str, Any]) -> list[Any]:
    return [value[0] if isinstance(value, tuple) else value for value in row.values()]


def _shown(cell: Any) -> str:
    return f"{cell:,.2f}" if isinstance(cell, float) else str(cell)


def _joined(calls: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    sums: dict[str, list[float]] = {}
    for name, spent, percent, _, count in map(_cells, calls):
        before = sums.get(name, [0.0, 0.0, 0])
        sums[name] = [before[0] + spent, before[1] + percent, before[2] + count]
    return [_row(name, spent, share, int(count)) for name, (spent, share, count) in sums.items()]
