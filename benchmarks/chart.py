"""Bar charts of the figures of several programs for several models."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tvm_qnn.io.figures import new_figure, save_figure

_TICKS = [digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5)]


def save_bars(
    path: Path,
    title: str,
    unit: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    labels: Mapping[str, Sequence[str]],
    *,
    logarithmic: bool = False,
    width: float = 9,
) -> None:
    """Draw a group of bars for each model, one bar for each program.

    Args:
        path: the picture's path.
        title: the chart's title.
        unit: the unit of the bars.
        groups: the models.
        series: by program, a value for each model; None if there is no value.
        labels: by program, the text beside each bar.
        logarithmic: whether the axis is logarithmic; bars then begin at 1.
        width: the chart's width in inches.
    """
    base = 1.0 if logarithmic else 0.0
    height = 1.2 + 0.22 * len(groups) * (len(series) + 1)
    figure = new_figure(width, height)
    axes = figure.add_subplot()
    step = 1 / (len(series) + 1)
    for number, (name, values) in enumerate(series.items()):
        places = [index + number * step for index in range(len(groups))]
        kept = [i for i, value in enumerate(values) if value is not None]
        lengths = [(values[i] or 0.0) - base for i in kept]
        bars = axes.barh([places[i] for i in kept], lengths, step * 0.9, base, label=name)
        axes.bar_label(bars, [labels[name][i] for i in kept], padding=2, fontsize=7)
    axes.set_yticks([i + 0.5 - step for i in range(len(groups))], groups)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    figure.suptitle(title, fontsize=9, x=0.01, ha="left")
    axes.margins(x=0.1, y=0.02)
    if logarithmic:
        axes.set_xscale("log", subs=())
        least, most = axes.get_xlim()
        axes.set_xticks([tick for tick in _TICKS if least <= tick <= most])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.axvline(1.0, color="black", linewidth=0.8)
    axes.legend(fontsize=7, loc="best")
    save_figure(figure, path)
