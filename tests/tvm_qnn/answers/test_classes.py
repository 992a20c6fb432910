"""Classifiers' answers."""

import numpy as np
from PIL import Image

from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from tests.support.answers import shown
from tvm_qnn.answers.canvas import Canvas
from tvm_qnn.answers.classes import find
from tvm_qnn.answers.question import Question

SCORES = TensorInfo("scores", (1, 4), "uint8", 0.25, 4)


def test_the_best_are_told_and_nothing_is_drawn() -> None:
    (reading,) = find(Question(Signature((), (SCORES,)), top=2))
    answer = reading.answer([np.array([[4, 255, 4, 8]], np.uint8)])
    assert [each["index"] for each in answer.fields()["classes"]] == [1, 3]
    assert "Top 2" in shown(answer)
    canvas = Canvas(Image.new("RGB", (8, 8)))
    answer.draw(canvas)
    assert not np.asarray(canvas.image).any()
    assert not reading.is_drawable
