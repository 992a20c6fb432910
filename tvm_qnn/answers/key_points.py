"""The key points of a person's body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.answers.detections import place_text
from tvm_qnn.answers.question import Question, Reading
from tvm_qnn.io.classes import reals_of
from tvm_qnn.io.terminal import Terminal, figures_table

if TYPE_CHECKING:
    from tvm_qnn.answers.canvas import Canvas

NAMES = (
    *("nose", "left eye", "right eye", "left ear", "right ear"),
    *("left shoulder", "right shoulder", "left elbow", "right elbow", "left wrist", "right wrist"),
    *("left hip", "right hip", "left knee", "right knee", "left ankle", "right ankle"),
)
"""COCO's key points in COCO's order, which is MoveNet's, too."""

_SHAPE = (1, 1, len(NAMES), 3)

_LIMBS = (
    *((0, 1), (0, 2), (1, 3), (2, 4)),
    *((5, 6), (5, 7), (7, 9), (6, 8), (8, 10)),
    *((5, 11), (6, 12), (11, 12), (11, 13), (13, 15), (12, 14), (14, 16)),
)

_POINT, _LIMB = 1, 3  # colours of points and limbs


@dataclass(frozen=True)
class KeyPoint:
    """One point of a body.

    Attributes:
        name: the part of the body.
        x: the horizontal position, as a part of the picture's width.
        y: the vertical position, as a part of the picture's height.
        score: the model's score, higher if it is more certain.
    """

    name: str
    x: float
    y: float
    score: float


@dataclass(frozen=True)
class KeyPoints:
    """All points of a body.

    Attributes:
        points: in the order of NAMES.
        threshold: the least score of a point that is shown.
    """

    points: list[KeyPoint]
    threshold: float

    def fields(self) -> dict[str, Any]:
        """Return all points; x and y are parts of the picture's width and height."""
        points = [vars(point) for point in self.points]
        return {"threshold": self.threshold, "key_points": points}

    def show(self, console: Terminal, size: tuple[int, int] | None) -> None:
        """Print a table of the visible points."""
        seen = [point for point in self.points if self._is_seen(point)]
        title = f"{len(seen)} of {len(self.points)}, score {self.threshold:.4g} or more"
        table = figures_table(["key point"], ["score", "x", "y"], title)
        for point in seen:
            place = place_text(point.x, 0, size), place_text(point.y, 1, size)
            table.add_row(point.name, f"{point.score:.4g}", *place)
        console.print(table)

    def draw(self, canvas: Canvas) -> None:
        """Draw the visible points, and the limbs between two of them."""
        for ends in _LIMBS:
            first, second = (self.points[end] for end in ends)
            if self._is_seen(first) and self._is_seen(second):
                canvas.line((first.x, first.y), (second.x, second.y), _LIMB)
        for point in self.points:
            if self._is_seen(point):
                canvas.point((point.x, point.y), _POINT)

    def _is_seen(self, point: KeyPoint) -> bool:
        return point.score >= self.threshold and isfinite(point.x) and isfinite(point.y)


@dataclass(frozen=True)
class KeyPointsReading:
    """Reads an output of MoveNet's form."""

    outputs: tuple[TensorInfo, ...]
    threshold: float

    is_drawable: ClassVar[bool] = True
    taken_for: str = "the 17 key points of a person, as MoveNet's, by its shape"

    def answer(self, arrays: Sequence[np.ndarray]) -> KeyPoints:
        """Read the points: y, x and score of each."""
        values = reals_of(arrays[0], self.outputs[0]).reshape(len(NAMES), 3).tolist()
        points = [
            KeyPoint(name, x, y, score) for name, (y, x, score) in zip(NAMES, values, strict=True)
        ]
        return KeyPoints(points, self.threshold)


def find(question: Question) -> list[Reading]:
    """Return the outputs that are key points, for a model whose input is a picture."""
    if question.picture_size is None:
        return []
    return [
        KeyPointsReading((info,), question.least(info))
        for info in question.signature.outputs
        if info.shape == _SHAPE and (info.dtype == "float32" or info.scale is not None)
    ]
