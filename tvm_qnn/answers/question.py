"""A person's question about a model's outputs, and the interface of all kinds of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from frontends.summary import Description, Descriptions
from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.classes import fitted_labels, read_lines
from tvm_qnn.io.images import picture_shape
from tvm_qnn.io.terminal import Terminal

if TYPE_CHECKING:
    from tvm_qnn.answers.canvas import Canvas

_LEAST = 0.3


@dataclass
class Question:
    """A person's question to a model.

    Attributes:
        signature: the model's signature.
        descriptions: the texts and numbers in its file.
        labels: a file with the names of classes; it has priority over names in the model's file.
        top: how many classes to name.
        threshold: the least score of objects to find; it has priority over the model's file.
        notes: remarks on parts of the model's file that do not fit, and are ignored.
        has_named: whether any output used the labels.
    """

    signature: Signature
    descriptions: Descriptions = field(default_factory=Descriptions)
    labels: Path | None = None
    top: int = 5
    threshold: float | None = None
    notes: list[str] = field(default_factory=list)
    has_named: bool = False

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Height and width of the only input that takes a picture; None if not exactly one does."""
        sizes = [size for info in self.signature.inputs if (size := _size(info)) is not None]
        return sizes[0] if len(sizes) == 1 else None

    def described(self, info: TensorInfo) -> Description:
        """Return the description of an output in the model's file."""
        place = self.signature.outputs.index(info)
        return self.descriptions.outputs.get(place, Description())

    def names(
        self, info: TensorInfo, classes: int, *, add_background: bool = True
    ) -> tuple[str, ...]:
        """Return the names of an output's classes; none if they have no names.

        Args:
            info: the output.
            classes: how many classes it has; 0 if this is unknown.
            add_background: as for ``fitted_labels``.

        Raises:
            QnnError: if the labels do not fit these classes.
        """
        if self.labels is not None:
            self.has_named = True
            lines = read_lines(self.labels)
            return fitted_labels(lines, classes, str(self.labels), add_background=add_background)
        labels = self.described(info).labels
        if not labels:
            return ()
        try:
            where = "the model's metadata"
            return fitted_labels(labels, classes, where, add_background=add_background)
        except QnnError as error:
            self.notes.append(f"labels are left out: {error}")
            return ()

    def count_of_names(self, info: TensorInfo) -> int:
        """Return how many names of classes there are for an output."""
        lines = read_lines(self.labels) if self.labels else self.described(info).labels
        return len(lines)

    def least(self, info: TensorInfo) -> float:
        """Return the least score that counts, for an output of scores."""
        if self.threshold is not None:
            return self.threshold
        described = self.described(info).threshold
        return _LEAST if described is None else described


def _size(info: TensorInfo) -> tuple[int, int] | None:
    try:
        height, width, _ = picture_shape(info)
    except QnnError:
        return None
    return height, width


class Answer(Protocol):
    """The meaning of some outputs of one run."""

    def fields(self) -> dict[str, Any]:
        """Return the answer as values that JSON can hold."""

    def show(self, console: Terminal, size: tuple[int, int] | None) -> None:
        """Print the answer.

        Args:
            console: the terminal.
            size: the width and height of the picture in pixels, if there is one.
        """

    def draw(self, canvas: Canvas) -> None:
        """Draw the answer on the picture, as far as it can be drawn."""


class Reading(Protocol):
    """Reads some outputs of a model as an answer.

    Attributes:
        is_drawable: whether its answers draw anything.
    """

    is_drawable: ClassVar[bool]

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The outputs that it reads; the answer counts as that of the first one."""

    @property
    def taken_for(self) -> str:
        """The kind of the outputs, and the reason for it; empty if it is obvious."""

    def answer(self, arrays: Sequence[np.ndarray]) -> Answer:
        """Read the outputs of a run."""
