"""The objects that a detector finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.answers.question import Question, Reading
from tvm_qnn.io.terminal import Terminal, figures_table

if TYPE_CHECKING:
    from tvm_qnn.answers.canvas import Canvas

_ROLES = ("boxes", "classes", "scores", "count")
_SIDES = ("left", "top", "right", "bottom")


@dataclass(frozen=True)
class Detection:
    """One object that was found.

    Attributes:
        index: its class.
        label: the class's name; empty if it has none.
        score: the model's score, higher if it is more certain.
        box: the left, top, right and bottom sides, as parts of the picture's width and height.
    """

    index: int
    label: str
    score: float
    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class Detections:
    """The objects that were found, the best first.

    Attributes:
        found: the objects with at least the threshold's score.
        count: the number of all objects, whatever their score.
        threshold: the least score.
    """

    found: list[Detection]
    count: int
    threshold: float

    def fields(self) -> dict[str, Any]:
        """Return the detections; sides of boxes are parts of the picture's width and height."""
        return {
            "threshold": self.threshold,
            "detections": [
                {**vars(each), "box": dict(zip(_SIDES, each.box, strict=True))}
                for each in self.found
            ],
        }

    def show(self, console: Terminal, size: tuple[int, int] | None) -> None:
        """Print a table; boxes are in pixels if there is a picture."""
        named = any(each.label for each in self.found)
        title = f"{len(self.found)} of {self.count}, score {self.threshold:.4g} or more"
        table = figures_table(["class", *["name"] * named], ["score", *_SIDES], title)
        for each in self.found:
            sides = [place_text(*pair, size) for pair in zip(each.box, (0, 1, 0, 1), strict=True)]
            table.add_row(str(each.index), *[each.label] * named, f"{each.score:.4g}", *sides)
        console.print(table)

    def draw(self, canvas: Canvas) -> None:
        """Draw the boxes with labels and scores, the best one on top."""
        for each in reversed(self.found):
            if all(map(isfinite, each.box)):
                name = each.label or f"class {each.index}"
                canvas.box(each.box, each.index + 1, f"{name} {each.score:.2f}")


def place_text(part: float, axis: int, size: tuple[int, int] | None) -> str:
    """Return a position in a picture as text: in pixels, or without a picture as a part of it."""
    if size is None or not isfinite(part):
        return f"{part:.3f}"
    return f"{part * size[axis]:.0f}"


@dataclass(frozen=True)
class DetectionsReading:
    """The results of TFLite_Detection_PostProcess."""

    outputs: tuple[TensorInfo, ...]
    labels: tuple[str, ...]
    threshold: float

    is_drawable: ClassVar[bool] = True

    @property
    def taken_for(self) -> str:
        """The operator that computed them."""
        others = ", ".join(f"{info.role} {info.name}" for info in self.outputs[1:])
        return f"boxes of detections, with {others}: TFLite_Detection_PostProcess made them"

    def answer(self, arrays: Sequence[np.ndarray]) -> Detections:
        """Read the first detections; the model says how many are valid."""
        boxes, classes, scores, count = (array.astype(np.float64) for array in arrays)
        boxes, classes, scores = boxes.reshape(-1, 4), classes.ravel(), scores.ravel()
        number = int(np.clip(np.nan_to_num(count.ravel()[0]), 0, len(boxes)))
        found = []
        for place in range(number):
            if scores[place] >= self.threshold and isfinite(classes[place]):
                top, left, bottom, right = boxes[place].tolist()
                index = int(classes[place])
                label = self.labels[index] if 0 <= index < len(self.labels) else ""
                box = (left, top, right, bottom)
                found.append(Detection(index, label, float(scores[place]), box))
        found.sort(key=lambda each: -each.score)
        return Detections(found, number, self.threshold)


def find(question: Question) -> list[Reading]:
    """Return the outputs of a detector."""
    by_role = {info.role: info for info in question.signature.outputs if info.role in _ROLES}
    if len(by_role) != len(_ROLES):
        return []
    boxes, classes, scores, count = (by_role[role] for role in _ROLES)
    # The operator itself leaves out the background's scores.
    labels = question.names(classes, classes.classes, add_background=False)
    least = question.least(scores)
    return [DetectionsReading((boxes, classes, scores, count), labels, least)]
