"""Draws the differences of a comparison."""

import os
from collections import Counter

from tvm_qnn.compare import Comparison
from tvm_qnn.io.figures import new_figure, save_figure
from tvm_qnn.io.text import visible


def save_histogram(path: str | os.PathLike[str], comparison: Comparison, title: str) -> None:
    """Draw a histogram of the differences of integer tensors in steps, zero included.

    Args:
        path: the PNG file to write.
        comparison: the comparison to draw.
        title: a title above it.

    Raises:
        QnnError: matplotlib is not installed, or the file cannot be written.
    """
    counts: Counter[int] = Counter()
    for tensor in comparison.tensors:
        counts.update(tensor.steps)
    wrong = sum(tensor.differing for tensor in comparison.tensors)
    counts[0] = comparison.elements - wrong
    figure = new_figure(7, 4)
    axes = figure.subplots()
    axes.bar(list(counts), list(counts.values()), width=0.9)
    axes.set_yscale("log")
    axes.set_xlabel(f"steps that an element is larger than that of {comparison.reference}")
    axes.set_ylabel("elements")
    axes.locator_params(axis="x", integer=True)
    found = f"{visible(title)}: {wrong:,} of {comparison.elements:,} elements differ"
    axes.set_title(found, loc="left", parse_math=False)
    save_figure(figure, path)
