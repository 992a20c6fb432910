"""Draws a profile as a picture."""

import os
import textwrap
from collections.abc import Sequence
from typing import Any

from tvm_qnn.io.figures import new_figure, save_figure
from tvm_qnn.io.text import visible
from tvm_qnn.profile.layers import Layer, Profile

_LETTERS_OF_AN_INCH = 12  # letters of a title in an inch, at its size


def save_chart(path: str | os.PathLike[str], profile: Profile, title: str) -> None:
    """Draw the time and the speed of each layer.

    Args:
        path: the PNG file to write.
        profile: the profile to draw.
        title: a title above it.

    Raises:
        QnnError: matplotlib is not installed, or the file cannot be written.
    """
    layers = profile.layers
    figure = new_figure(max(7.0, 1.5 + 0.11 * len(layers)), 6)
    times, speeds = figure.subplots(2, sharex=True)
    _bars(times, layers, [1e6 * layer.seconds for layer in layers])
    times.set_ylabel("µs")
    lines = textwrap.fill(visible(title), int(_LETTERS_OF_AN_INCH * figure.get_figwidth()))
    times.set_title(lines, loc="left", fontsize=10, parse_math=False)
    _bars(speeds, layers, [layer.speed / 1e9 for layer in layers])
    speeds.set_ylabel("GOP/s")
    speeds.set_xlabel("layer, in the order of a run")
    for peak in profile.peaks.values():
        speeds.axhline(peak / 1e9, color="black", linewidth=0.8)
    if profile.peaks:
        texts = [f"{peak / 1e9:.0f} GOP/s of {name}" for name, peak in profile.peaks.items()]
        label = f"{'lines' if len(texts) > 1 else 'line'}: measured peak, {', '.join(texts)}"
        speeds.set_title(label, loc="left", fontsize=8)
    if layers:
        handles, labels = times.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    times.margins(x=0.01)
    save_figure(figure, path)


def _bars(axes: Any, layers: Sequence[Layer], values: Sequence[float]) -> None:
    """Draw a bar for each layer, in the colour of its operator."""
    codes = list(dict.fromkeys(layer.code for layer in layers))
    for number, code in enumerate(codes):
        places = [place for place, layer in enumerate(layers) if layer.code == code]
        heights = [values[place] for place in places]
        # Matplotlib hides names that begin with an underscore; MXNet's names do.
        label = code.lstrip("_") or "other"
        axes.bar(places, heights, color=f"C{number % 10}", label=label)
