"""The best classes of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.answers.question import Question, Reading
from tvm_qnn.io.classes import Guess, best_classes, is_classifier
from tvm_qnn.io.terminal import Terminal, print_guesses

if TYPE_CHECKING:
    from tvm_qnn.answers.canvas import Canvas


@dataclass(frozen=True)
class Classes:
    """The best classes."""

    guesses: list[Guess]

    def fields(self) -> dict[str, Any]:
        """Return classes with index, score and label, best first."""
        return {"classes": [vars(guess) for guess in self.guesses]}

    def show(self, console: Terminal, size: tuple[int, int] | None) -> None:
        """Print a table."""
        del size
        print_guesses(console, self.guesses)

    def draw(self, canvas: Canvas) -> None:
        """Draw nothing: a class has no position in a picture."""


@dataclass(frozen=True)
class ClassesReading:
    """An output with a score for each class."""

    outputs: tuple[TensorInfo, ...]
    labels: tuple[str, ...]
    top: int
    taken_for: str = ""

    is_drawable: ClassVar[bool] = False

    def answer(self, arrays: Sequence[np.ndarray]) -> Classes:
        """Find the best classes."""
        return Classes(best_classes(arrays[0], self.outputs[0], self.labels, self.top))


def find(question: Question) -> list[Reading]:
    """Return the outputs of classifiers."""
    return [
        ClassesReading((info,), question.names(info, max(info.shape)), question.top)
        for info in question.signature.outputs
        if is_classifier(info) and not info.role
    ]
