"""Answers as a terminal shows them."""

import io

from tvm_qnn.answers.question import Answer
from tvm_qnn.io.terminal import Terminal


def shown(answer: Answer, size: tuple[int, int] | None = None) -> str:
    """Return the output of an answer."""
    stream = io.StringIO()
    answer.show(Terminal(file=stream, width=100), size)
    return stream.getvalue()
