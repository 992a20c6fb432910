"""Key points as MoveNet has them."""

import numpy as np
from PIL import Image

from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from tests.support.answers import shown
from tvm_qnn.answers.canvas import Canvas, colour
from tvm_qnn.answers.key_points import NAMES, KeyPoint, KeyPoints, find
from tvm_qnn.answers.question import Question

PICTURE = TensorInfo("x", (1, 192, 192, 3), "uint8", 1.0, 0)
POINTS = TensorInfo("y", (1, 1, 17, 3), "float32")


def test_its_shape_beside_a_picture_tells_them() -> None:
    (reading,) = find(Question(Signature((PICTURE,), (POINTS,))))
    assert "17 key points" in reading.taken_for
    array = np.zeros((1, 1, 17, 3), np.float32)
    array[0, 0, 3] = 0.25, 0.5, 0.75
    found = reading.answer([array])
    assert isinstance(found, KeyPoints)
    assert found.points[3] == KeyPoint("left ear", x=0.5, y=0.25, score=0.75)
    assert len(found.fields()["key_points"]) == len(NAMES) == 17
    info = TensorInfo("y", (1, 1, 17, 3), "uint8", 1 / 256, 0)
    (reading,) = find(Question(Signature((PICTURE,), (info,))))
    found = reading.answer([np.full((1, 1, 17, 3), 128, np.uint8)])
    assert isinstance(found, KeyPoints)
    assert found.points[0] == KeyPoint("nose", 0.5, 0.5, 0.5)
    assert find(Question(Signature((PICTURE,), (TensorInfo("y", (1, 6, 56), "float32"),)))) == []
    assert find(Question(Signature((TensorInfo("x", (1, 5), "int8"),), (POINTS,)))) == []


def body(*seen: int) -> KeyPoints:
    """Return points on a diagonal, some of them visible."""
    points = [
        KeyPoint(name, (i + 1) / 18, (i + 1) / 18, 0.9 if i in seen else 0.1)
        for i, name in enumerate(NAMES)
    ]
    return KeyPoints(points, 0.5)


def test_points_and_limbs_that_are_seen_are_shown() -> None:
    text = shown(body(5, 7), (180, 360))
    assert "2 of 17, score 0.5 or more" in text
    assert "left shoulder" in text
    assert "nose" not in text
    assert " 60 " in text
    assert " 120 " in text
    drawn = []
    for seen in ((5, 7), (5, 16)):
        canvas = Canvas(Image.new("RGB", (180, 180), "white"))
        body(*seen).draw(canvas)
        drawn.append(np.asarray(canvas.image))
    assert tuple(drawn[0][70, 70]) == colour(3)
    assert tuple(drawn[0][60, 60]) == colour(1)
    assert tuple(drawn[1][100, 100]) == (255, 255, 255)
    assert tuple(drawn[1][170, 170]) == colour(1)
    wild = KeyPoints([KeyPoint("nose", 1e30, -1e30, 1.0)] * 16 + [KeyPoint("x", np.nan, 0, 1)], 0.5)
    wild.draw(Canvas(Image.new("RGB", (9, 9))))
    shown(wild, (9, 9))
