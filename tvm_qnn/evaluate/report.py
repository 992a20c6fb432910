"""Writes an evaluation as files: CSV tables, JSON figures, the confusion matrix, an HTML page."""

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.evaluation import Evaluation
from tvm_qnn.io.figures import new_figure, save_figure
from tvm_qnn.io.outputs import replacing, write_text
from tvm_qnn.io.pages import page, page_table
from tvm_qnn.io.text import to_json, visible

FIGURES, SAMPLES, CLASSES = "figures.json", "samples.csv", "classes.csv"
CONFUSION, PAGE = "confusion.png", "report.html"
"""The names of the files."""

_WORST = 24  # pictures on the page
_SIDE = 160  # pixels of their longer side
_LETTERS = 24  # of a class's name beside the matrix, at most
_NAMED = 30  # the most classes whose names fit beside the matrix


def write_report(
    folder: Path, title: str, found: Evaluation, about: Mapping[str, str] | None = None
) -> list[Path]:
    """Write an evaluation to a folder; the matrix and the classes only if the task has classes.

    Args:
        folder: where to write.
        title: of the page and the matrix.
        found: the evaluation.
        about: headings and texts of the page that say how the evaluation was made.

    Returns:
        The files.

    Raises:
        QnnError: if a file cannot be written, or matplotlib is not installed.
    """
    figures = found.figures
    classes = found.job.task.rows(figures["figures"])
    write_text(folder / FIGURES, to_json(figures, indent=2) + "\n")
    _write_csv(folder / SAMPLES, _sample_rows(found))
    written = [folder / FIGURES, folder / SAMPLES]
    if classes:
        _write_csv(folder / CLASSES, classes)
        _draw_confusion(folder / CONFUSION, title, figures["figures"], classes)
        written += [folder / CLASSES, folder / CONFUSION]
    write_text(folder / PAGE, _page(folder, title, found, classes, about or {}))
    return [*written, folder / PAGE]


def summary(found: Evaluation) -> list[tuple[str, list[str]]]:
    """Return a title and the figures of our model and of the other for each row of a table."""
    both = [found.figures["figures"]]
    if found.figures["beside"] is not None:
        both.append(found.figures["beside"]["figures"])
    return [
        (title, ["–" if each[key] is None else f"{each[key]:.2%}" for each in both])
        for key, title in found.job.task.named
    ]


def remarks(found: Evaluation) -> list[str]:
    """Say how our model and the other compare."""
    beside, count = found.figures["beside"], found.figures["samples"]
    if beside is None:
        return []
    said = []
    if found.job.task.named:
        said.append(f"{beside['agreeing']:,} of {count:,} predictions are the same.")
    if beside["compared"] < count:
        said.append("The outputs have other shapes or types: their elements are not compared.")
        return said
    said.append(
        f"{beside['equal']:,} of {count:,} samples have equal outputs; "
        f"{beside['differing']:,} of {beside['elements']:,} elements differ."
    )
    if first := beside["first"]:
        place = ", ".join(map(str, first["index"]))
        said.append(
            f"The first that differs: {first['sample']}, output {first['output']}[{place}]: "
            f"{first['ours']}, not {first['theirs']}."
        )
    return said


def _sample_rows(found: Evaluation) -> list[dict[str, Any]]:
    job = found.job
    rows = []
    for sample, record in zip(job.data.samples, found.records, strict=True):
        row = {"sample": sample.name, "truth": sample.truth, **job.task.cells(sample, record)}
        if job.beside is not None:
            theirs = job.beside.task.cells(sample, record["beside"])
            row |= {f"beside_{key}": value for key, value in theirs.items()}
            differing = record["differing"]
            row["equal"] = None if differing is None else not differing["differing"]
        rows.append(row)
    return rows


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _draw_confusion(
    path: Path, title: str, figures: Mapping[str, Any], classes: Sequence[Mapping[str, Any]]
) -> None:
    """Draw the confusion matrix: how often each class is predicted as each; rows add up to 1."""
    indices = [row["class"] for row in classes]
    order = {index: place for place, index in enumerate(indices)}
    matrix = np.zeros((len(indices), len(indices)), np.int64)
    for truth, predicted, count in figures["confusion"]:
        matrix[order[truth], order[predicted]] = count
    shares = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    has_names = len(indices) <= _NAMED
    side = max(4.0, 0.42 * len(indices) + 1.8) if has_names else 8.0
    figure = new_figure(side, side)
    axes = figure.subplots()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    axes.set_title(visible(title), loc="left", parse_math=False)
    if has_names:
        labels = [visible(row["label"]) for row in classes]
        short = [each if len(each) <= _LETTERS else f"{each[: _LETTERS - 1]}…" for each in labels]
        names = [each or str(row["class"]) for each, row in zip(short, classes, strict=True)]
        axes.set_xticks(range(len(names)), names, rotation=90, parse_math=False)
        axes.set_yticks(range(len(names)), names, parse_math=False)
        for (row, column), count in np.ndenumerate(matrix):
            if count:
                colour = "white" if shares[row, column] > 0.5 else "black"
                size = 8 if count < 1000 else 5
                axes.text(
                    column, row, f"{count}", ha="center", va="center", color=colour, fontsize=size
                )
    save_figure(figure, path)


def _page(
    folder: Path,
    title: str,
    found: Evaluation,
    classes: Sequence[Mapping[str, Any]],
    about: Mapping[str, str],
) -> str:
    beside = found.figures["beside"]
    heads = ["figure", "tvm-qnn", *([beside["title"]] if beside else [])]
    parts = [page_table(heads, [[name, *cells] for name, cells in summary(found)])]
    parts += [f"<p>{escape(visible(text))}</p>" for text in remarks(found)]
    if worst := _worst(found):
        parts += ["<h2>The worst</h2>", '<div class="pictures">', *worst, "</div>"]
    if classes:
        matrix = base64.b64encode((folder / CONFUSION).read_bytes()).decode()
        parts += ["<h2>True and predicted classes</h2>"]
        shown = "Samples by true and predicted class"
        parts += [f'<img class="wide" src="data:image/png;base64,{matrix}" alt="{shown}">']
        rows = [[_cell(value) for value in row.values()] for row in classes]
        parts += ["<h2>Classes</h2>", page_table([*classes[0]], rows)]
    if about:
        parts += ["<h2>How it was made</h2>", page_table([], [*about.items()], "words")]
    return page(title, parts)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _worst(found: Evaluation) -> list[str]:
    """Return the pictures on which the model errs most."""
    job = found.job
    pairs = [
        (job.task.fault(sample, record), place, sample, record)
        for place, (sample, record) in enumerate(zip(job.data.samples, found.records, strict=True))
    ]
    wrong = sorted((each for each in pairs if each[0] > 0), key=lambda each: (-each[0], each[1]))
    shown = []
    for _, _, sample, record in wrong[:_WORST]:
        try:
            picture = job.feed.picture(sample)
        except QnnError:  # the row is not a picture
            continue
        scale = _SIDE / max(picture.size)
        sides = [max(1, round(side * scale)) for side in picture.size]
        small = picture.resize((sides[0], sides[1]), 0 if scale > 1 else None)
        file = io.BytesIO()
        small.save(file, "PNG")
        content = base64.b64encode(file.getvalue()).decode()
        text = escape(visible(job.task.caption(sample, record)))
        name = escape(visible(sample.name))
        shown.append(
            f'<figure><img src="data:image/png;base64,{content}" alt="{name}">'
            f"<figcaption>{text}<br><small>{name}</small></figcaption></figure>"
        )
    return shown
