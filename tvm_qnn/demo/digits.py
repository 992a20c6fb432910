"""Part 1 of the demonstration: a trained model on pictures that were not in its training."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from frontends.tflite import from_tflite
from qnn_ops.errors import QnnError
from tvm_qnn import digits
from tvm_qnn.build import build
from tvm_qnn.demo.report import draw_grid
from tvm_qnn.io.progress import timed
from tvm_qnn.io.terminal import Terminal, figures_table, styled
from tvm_qnn.oracle import litert_tensors


@dataclass(frozen=True)
class DigitsResult:
    """A model's answers to the held-out digits, here and on LiteRT's reference kernels.

    Attributes:
        labels: the true digits [N].
        scores: our answers, quantized probabilities [N, 10].
        expected: LiteRT's answers.
    """

    labels: np.ndarray
    scores: np.ndarray
    expected: np.ndarray

    @property
    def predictions(self) -> np.ndarray:
        """The digit with the highest score for each picture [N]."""
        return self.scores.argmax(1)

    @property
    def right(self) -> int:
        """The number of pictures that are classified correctly."""
        return int(np.count_nonzero(self.predictions == self.labels))

    @property
    def equal_predictions(self) -> int:
        """The number of predictions that equal LiteRT's."""
        return int(np.count_nonzero(self.predictions == self.expected.argmax(1)))

    @property
    def equal_scores(self) -> int:
        """The number of scores that equal LiteRT's."""
        return int(np.count_nonzero(self.scores == self.expected))


def classify(style: str) -> DigitsResult:
    """Classify the held-out digits with the trained model of a style, here and on LiteRT."""
    model = digits.model(style)
    pictures, labels = digits.held_out()
    inputs = digits.to_input(pictures, style)
    mod, params = from_tflite(model)
    library = build(mod, "host", params)
    scores = [library.run(picture[None])[0] for picture in inputs]
    tensors = [litert_tensors(model, [picture[None]]) for picture in inputs]
    expected = [list(each.values())[-1][0] for each in tensors]
    return DigitsResult(labels, np.stack(scores), np.stack(expected))


def show_digits(console: Terminal, folder: Path) -> None:
    """Classify the digits with both models, print how well, and draw some of them."""
    pictures, labels = digits.held_out()
    console.print()
    console.print(
        styled("Handwritten digits"),
        ": a small convolutional network, trained on three quarters of scikit-learn's digits and "
        f"quantized; the other {len(labels)} are classified here.",
        sep="",
    )
    results = {}
    for style in digits.STYLES:
        with timed(console, f"Compile the {style} model, classify, compare with LiteRT"):
            results[style] = classify(style)
    console.print(_table(results))
    drawing = folder / "digits.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draw_grid(drawing, pictures, labels, results[digits.STYLES[0]].predictions)
    except (OSError, QnnError) as error:  # the demonstration goes on without a drawing
        console.print(f"Without a picture of them: {error}")
    else:
        console.print(f"Some of them, with prediction and truth: {drawing}")


def _table(results: dict[str, DigitsResult]) -> Table:
    equal = ("predictions equal to LiteRT's", "scores equal to LiteRT's")
    table = figures_table(["model"], ["classified right", *equal])
    for style, result in results.items():
        count = len(result.labels)
        table.add_row(
            style,
            f"{result.right} of {count} ({result.right / count:.1%})",
            f"{result.equal_predictions} of {count}",
            f"{result.equal_scores} of {result.scores.size}",
        )
    return table
