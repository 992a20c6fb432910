"""Shows the results of the demonstration as text, tables and a drawing."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from tvm_qnn.io.figures import new_figure, save_figure
from tvm_qnn.io.terminal import Terminal, figures_table, styled
from tvm_qnn.timing import LITERT, OURS, Timing, milliseconds, warn_of_disturbance

if TYPE_CHECKING:
    from tvm_qnn.compare import Comparison, TensorComparison
    from tvm_qnn.demo.inception import Checked


ROWS, COLUMNS = 4, 6
MOST_WRONG = COLUMNS  # at most one row of them
RIGHT, WRONG = "tab:green", "tab:red"


def chosen(labels: np.ndarray, predictions: np.ndarray) -> list[int]:
    """Choose the pictures to draw: first some wrong ones, if there are any, then others."""
    wrong = np.flatnonzero(predictions != labels)[:MOST_WRONG]
    right = np.flatnonzero(predictions == labels)
    return [int(i) for i in [*wrong, *right][: ROWS * COLUMNS]]


def draw_grid(
    path: Path, pictures: np.ndarray, labels: np.ndarray, predictions: np.ndarray
) -> None:
    """Draw some pictures with their predicted and true classes.

    Args:
        path: the PNG file to write.
        pictures: [N, height, width]; high values are dark.
        labels: the true classes [N].
        predictions: the model's classes [N].

    Raises:
        QnnError: if matplotlib is not installed, or the file cannot be written.
    """
    figure = new_figure(1.3 * COLUMNS, 1.55 * ROWS)
    axes = figure.subplots(ROWS, COLUMNS)
    for axis in axes.ravel():
        axis.set_axis_off()
    for axis, index in zip(axes.ravel(), chosen(labels, predictions), strict=False):
        is_right = predictions[index] == labels[index]
        axis.imshow(pictures[index], cmap="gray_r")
        title = f"{predictions[index]} (is {labels[index]})"
        axis.set_title(title, color=RIGHT if is_right else WRONG)
    save_figure(figure, path, 120)


MOST_ROWS = 10


def print_checked(console: Terminal, checked: Checked) -> None:
    """Print how many tensors are equal, and the times; warn if the times say little."""
    warn_of_disturbance(checked.timings)
    print_comparison(console, checked.comparison)
    rounds = len(checked.timings[OURS].seconds)
    console.print(times_table(f"One thread, {rounds} runs of each in turn", checked.timings))
    console.print(_ratio(checked.timings))


def print_comparison(console: Terminal, comparison: Comparison) -> None:
    """Print how many tensors are equal, and the first tensors that differ."""
    equal = comparison.elements - sum(tensor.differing for tensor in comparison.tensors)
    console.print(
        f"Equal to {comparison.reference}: ",
        styled(_count(comparison.tensors, "tensors")),
        f", {equal:,} of {comparison.elements:,} elements",
        f" in {comparison.runs:,} runs." if comparison.runs > 1 else ".",
        sep="",
    )
    if comparison.outputs:
        said = _count(comparison.outputs, "outputs")
        console.print("When built for use, with operators fused: ", styled(said), ".", sep="")
    if comparison.differing:
        console.print(_differing(comparison))


def _count(tensors: Sequence[TensorComparison], noun: str) -> str:
    right = sum(tensor.is_equal for tensor in tensors)
    return f"{right} of {len(tensors)} {noun}"


def _differing(comparison: Comparison) -> Table:
    figures = ("elements", "differing", "by at most", "SQNR", "cosine")
    table = figures_table(("tensor", "operator"), figures, "Tensors that differ")
    for tensor in comparison.differing[:MOST_ROWS]:
        most = tensor.mismatch or f"{tensor.worst:g}"
        sizes = (f"{tensor.elements:,}", f"{tensor.differing:,}", most)
        noise = "" if tensor.sqnr is None else f"{tensor.sqnr:.1f} dB"
        angle = "" if tensor.cosine is None else f"{tensor.cosine:.6f}"
        table.add_row(tensor.name, tensor.operator, *sizes, noise, angle)
    if len(comparison.differing) > MOST_ROWS:
        table.caption = f"and {len(comparison.differing) - MOST_ROWS} more"
    return table


def times_table(title: str, timings: Mapping[str, Timing]) -> Table:
    """List the median, the fastest and the slowest runs of each program."""
    figures = ("median", "fastest", "90 %", "99 %", "slowest")
    table = figures_table(["milliseconds"], figures, title)
    for name, timing in timings.items():
        slow = (timing.percentile(90), timing.percentile(99), timing.maximum)
        seconds = (timing.median, timing.minimum, *slow)
        table.add_row(name, *map(milliseconds, seconds))
    return table


def rates_table(title: str, rates: Mapping[str, Sequence[float]]) -> Table:
    """List the median, slowest and fastest rate of each program, and the first one's ratio to it.

    Args:
        title: the table's title.
        rates: images a second in each turn, by program.
    """
    caption = f"ratio: the images of {next(iter(rates))} divided by the program's"
    heads = ("median", "slowest", "fastest", "ratio")
    below = {"caption": caption, "caption_justify": "left"}
    table = figures_table(["images a second"], heads, title, **below)
    first = statistics.median(next(iter(rates.values())))
    for name, turns in rates.items():
        median = statistics.median(turns)
        figures = (
            f"{rate:,.4g}" if rate < 1000 else f"{rate:,.0f}"
            for rate in (median, min(turns), max(turns))
        )
        table.add_row(name, *figures, f"{first / median:.2f}")
    return table


def _ratio(timings: dict[str, Timing]) -> str:
    ratio = timings[LITERT].median / timings[OURS].median
    if ratio >= 1:
        return f"{OURS} is {ratio:.2f} times as fast as LiteRT."
    return f"LiteRT is {1 / ratio:.2f} times as fast as {OURS}."
