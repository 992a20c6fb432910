"""Prints and draws the outputs of `tvm-qnn run`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qnn_ops.errors import QnnError
from tvm_qnn.cli.model_files import ending

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

    from tvm_qnn.answers.question import Answer, Reading


def check_drawing(path: Path, picture: Image | None, readings: Sequence[Reading]) -> None:
    """Check before a run that there is something to draw, and a picture to draw on.

    Raises:
        QnnError: if there is not.
    """
    from tvm_qnn.answers.canvas import ENDINGS

    if ending(path) not in ENDINGS:
        raise QnnError(f"cannot draw to {path}: its name must end in {' or '.join(ENDINGS)}")
    if picture is None:
        raise QnnError("--draw needs one picture as --input, to draw on")
    if not any(reading.is_drawable for reading in readings):
        raise QnnError(
            "--draw has nothing to draw: no output of the model is known to be detections, a mask "
            "or key points"
        )


def write_drawing(path: Path, picture: Image, answers: Iterable[Answer]) -> None:
    """Draw answers on a picture, and write it.

    Raises:
        QnnError: if the file cannot be written.
    """
    from tvm_qnn.answers.canvas import Canvas

    canvas = Canvas(picture)
    for answer in answers:
        answer.draw(canvas)
    canvas.save(path)


def describe(
    name: str, array: np.ndarray, taken: Mapping[str, Reading], answers: Mapping[str, Answer]
) -> dict[str, Any]:
    """Describe one output with values that JSON can hold.

    Args:
        name: the output's name.
        array: its values.
        taken: the kinds of outputs, by name.
        answers: the answers, by the name of the first output of each.
    """
    fields: dict[str, Any] = {"output": name, "shape": list(array.shape), "dtype": str(array.dtype)}
    if name in answers:
        if taken[name].taken_for:
            fields["taken_for"] = taken[name].taken_for
        return {**fields, **answers[name].fields()}
    if name in taken:
        return {**fields, "part_of": taken[name].outputs[0].name}
    if not array.size:
        return fields
    return {**fields, "min": array.min().item(), "max": array.max().item()}


def show(
    results: Mapping[str, np.ndarray],
    taken: Mapping[str, Reading],
    answers: Mapping[str, Answer],
    picture: Image | None,
) -> None:
    """Print outputs and answers; see ``describe``.

    Args:
        results: the outputs by name.
        taken: as for ``describe``.
        answers: as for ``describe``.
        picture: the picture on which the model ran, if there is one.
    """
    from tvm_qnn.io.terminal import Terminal, styled

    console = Terminal()
    for name, array in results.items():
        shape = "×".join(map(str, array.shape))
        console.print(styled(name), f": {array.dtype} {shape}", sep="")
        if name in answers:
            if taken[name].taken_for:
                console.print(f"taken for {taken[name].taken_for}")
            answers[name].show(console, picture.size if picture else None)
        elif name not in taken and array.size:
            console.print(f"from {array.min()} to {array.max()}")
