"""What every kind of answer is able to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.io.terminal import Terminal

if TYPE_CHECKING:
    from tvm_qnn.answers.canvas import Canvas

Array = np.ndarray[Any, Any]


class Answer(Protocol):
    """What outputs of one run say."""

    def fields(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""

    def show(self, console: Terminal, size: tuple[int, int] | None) -> None:
        """Print it.

        Args:
            console: where.
            size: the width and height of the picture in pixels, if there is one.
        """

    def draw(self, canvas: Canvas) -> None:
        """Draw it on the picture; what cannot be drawn draws nothing."""


class Reading(Protocol):
    """What outputs of a model are taken for.

    Attributes:
        is_drawable: whether there is anything to draw.
    """

    is_drawable: ClassVar[bool]

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Which outputs; the answer is that of the first."""

    @property
    def taken_for(self) -> str:
        """What for, and why; empty where it goes without saying."""

    def answer(self, arrays: Sequence[Array]) -> Answer:
        """Read the outputs of a run."""
