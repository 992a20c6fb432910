"""The differences that a comparison found, as a picture."""

from __future__ import annotations

import os
from collections import Counter

from qnn_ops.errors import QnnError
from tvm_qnn.compare import Comparison


def save_histogram(path: str | os.PathLike[str], comparison: Comparison, title: str) -> None:
    """Draw how many elements of integer tensors are how many steps off, zero included.

    Args:
        path: of the PNG file.
        comparison: what to draw.
        title: above it.

    Raises:
        QnnError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise QnnError("drawing needs matplotlib: pip install matplotlib") from error
    counts: Counter[int] = Counter()
    for tensor in comparison.tensors:
        counts.update(tensor.steps)
    wrong = sum(tensor.differing for tensor in comparison.tensors)
    counts[0] = comparison.elements - wrong
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.bar(list(counts), list(counts.values()), width=0.9)
    axes.set_yscale("log")
    axes.set_xlabel("steps that an element is larger than LiteRT's")
    axes.set_ylabel("elements")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"{title}: {wrong:,} of {comparison.elements:,} elements differ", loc="left")
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise QnnError(f"cannot write {os.fspath(path)}: {error}") from error
