"""A drawing of classified pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tvm_qnn.io.figures import new_figure, save_figure

Array = np.ndarray[Any, Any]

ROWS, COLUMNS = 4, 6
MOST_WRONG = COLUMNS  # a row of them at most
RIGHT, WRONG = "tab:green", "tab:red"


def chosen(labels: Array, predictions: Array) -> list[int]:
    """Choose the pictures to draw: some that are classified wrongly, if any are, then others."""
    wrong = np.flatnonzero(predictions != labels)[:MOST_WRONG]
    right = np.flatnonzero(predictions == labels)
    return [int(i) for i in [*wrong, *right][: ROWS * COLUMNS]]


def draw_grid(path: Path, pictures: Array, labels: Array, predictions: Array) -> None:
    """Draw some pictures with what they were taken for and what they are.

    Args:
        path: of the PNG file.
        pictures: [N, height, width], dark where the values are high.
        labels: what they are [N].
        predictions: what the model says they are [N].

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
