"""Bar charts of figures that several programs have for several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tvm_qnn.io.figures import new_figure, save_figure


def save_bars(
    path: Path,
    title: str,
    unit: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    labels: Mapping[str, Sequence[str]],
    *,
    logarithmic: bool = False,
) -> None:
    """Draw a group of bars for each model, one bar for each program.

    Args:
        path: of the PNG file.
        title: above the chart.
        unit: what the bars measure.
        groups: the models.
        series: by program, a value for each model; None where there is none.
        labels: by program, the text at each bar.
        logarithmic: whether the axis is.
    """
    height = 1.2 + 0.22 * len(groups) * (len(series) + 1)
    figure = new_figure(9, height)
    axes = figure.add_subplot()
    step = 1 / (len(series) + 1)
    for number, (name, values) in enumerate(series.items()):
        places = [index + number * step for index in range(len(groups))]
        kept = [i for i, value in enumerate(values) if value is not None]
        bars = axes.barh(
            [places[i] for i in kept], [values[i] or 0.0 for i in kept], step * 0.9, label=name
        )
        axes.bar_label(bars, [labels[name][i] for i in kept], padding=2, fontsize=7)
    axes.set_yticks([i + 0.5 - step for i in range(len(groups))], groups)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title, fontsize=9, loc="left")
    axes.margins(x=0.1)
    if logarithmic:
        axes.set_xscale("log")
        axes.axvline(1.0, color="black", linewidth=0.8)
    axes.legend(fontsize=7, loc="best")
    save_figure(figure, path)
