"""The interface of all kinds of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.io.terminal import Terminal

if TYPE_CHECKING:
    from tvm_qnn.answers.canvas import Canvas


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
