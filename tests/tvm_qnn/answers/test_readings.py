"""What each output is taken for."""

from pathlib import Path

import pytest

from frontends.summary import Description, Descriptions
from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.answers.classes import ClassesReading
from tvm_qnn.answers.question import Question
from tvm_qnn.answers.readings import readings_of

PICTURE = TensorInfo("x", (1, 8, 8, 3), "uint8", 1.0, 0)
SCORES = TensorInfo("scores", (1, 5), "uint8", 1 / 256, 0)
MAP = TensorInfo("map", (1, 8, 8), "int64", role="map", classes=3)
FEATURES = TensorInfo("features", (1, 4, 4, 9), "int8", 0.1, 0)


def test_outputs_are_taken_for_what_they_are() -> None:
    readings = readings_of(Question(Signature((PICTURE,), (SCORES, FEATURES, MAP))))
    taken = {info.name: type(reading).__name__ for reading in readings for info in reading.outputs}
    assert taken == {"map": "MaskReading", "scores": "ClassesReading"}
    shapes = {"boxes": (1, 5, 4), "classes": (1, 5), "scores": (1, 5), "count": (1,)}
    outputs = [TensorInfo(n, s, "float32", role=n, classes=2) for n, s in shapes.items()]
    (reading,) = readings_of(Question(Signature((PICTURE,), tuple(outputs))))
    assert len(reading.outputs) == 4
    assert readings_of(Question(Signature((PICTURE,), tuple(outputs[:3])))) == []


def test_a_classifier_has_labels_and_others_none(tmp_path: Path) -> None:
    signature = Signature((PICTURE,), (FEATURES, SCORES))
    descriptions = Descriptions(outputs={1: Description(("background", *"abcde"))})
    (reading,) = readings_of(Question(signature, descriptions))
    assert isinstance(reading, ClassesReading)
    assert reading.labels == tuple("abcde")
    path = tmp_path / "labels.txt"
    path.write_text("a\nb\n")
    with pytest.raises(QnnError, match="outputs have no classes to name"):
        readings_of(Question(Signature((PICTURE,), (FEATURES,)), labels=path))
