"""What detectors find."""

import json

import numpy as np
from PIL import Image

from frontends.summary import Description, Descriptions
from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from tests.support.answers import shown
from tvm_qnn.answers.canvas import Canvas, colour
from tvm_qnn.answers.detections import Detection, Detections, find
from tvm_qnn.answers.question import Question
from tvm_qnn.io.text import to_json

PICTURE = TensorInfo("x", (1, 8, 8, 3), "uint8", 1.0, 0)
OUTPUTS = (
    TensorInfo("kinds", (1, 3), "float32", role="classes", classes=4),
    TensorInfo("number", (1,), "float32", role="count", classes=4),
    TensorInfo("boxes", (1, 3, 4), "float32", role="boxes", classes=4),
    TensorInfo("scores", (1, 3), "float32", role="scores", classes=4),
)
SIGNATURE = Signature((PICTURE,), OUTPUTS)
LABELS = ("ant", "bee", "cat", "dog")


def answer(
    question: Question, scores: object, count: float = 3, kinds: object = (0, 1, 3)
) -> Detections:
    (reading,) = find(question)
    boxes = [[0, 0, 0.5, 0.25], [0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 1, 1]]
    arrays = [[boxes], [kinds], [scores], [count]]
    found = reading.answer([np.array(array, np.float32) for array in arrays])
    assert isinstance(found, Detections)
    return found


def test_the_operator_s_results_are_read_in_any_order() -> None:
    (reading,) = find(Question(SIGNATURE))
    assert [info.name for info in reading.outputs] == ["boxes", "kinds", "scores", "number"]
    assert "TFLite_Detection_PostProcess made them" in reading.taken_for
    found = answer(Question(SIGNATURE), (0.5, 0.25, 0.75))
    assert found.found == [
        Detection(3, "", 0.75, (0.5, 0.5, 1, 1)),
        Detection(0, "", 0.5, (0, 0, 0.25, 0.5)),
    ]
    assert (found.count, found.threshold) == (3, 0.3)


def test_what_is_no_detection() -> None:
    assert [each.index for each in answer(Question(SIGNATURE), (1, 1, 1), 2).found] == [0, 1]
    assert answer(Question(SIGNATURE), (1, 1, 1), float("nan")).found == []
    assert len(answer(Question(SIGNATURE), (1, 1, 1), 1e9).found) == 3
    assert find(Question(Signature((PICTURE,), OUTPUTS[:3]))) == []
    nan = float("nan")
    found = answer(Question(SIGNATURE), (nan, 0.9, 0.8), kinds=(0, nan, -7))
    assert [each.index for each in found.found] == [-7]
    box = (nan, float("inf"), 0.0, 1.0)
    wild = Detections([Detection(1 << 40, "", 0.5, box)], 1, 0.0)
    assert json.loads(to_json(wild.fields()))["detections"][0]["box"]["left"] is None
    assert "nan" in shown(wild, (8, 8))
    canvas = Canvas(Image.new("RGB", (8, 8)))
    wild.draw(canvas)
    assert not np.asarray(canvas.image).any()


def test_labels_of_the_file_count_unless_others_are_given_or_they_do_not_fit() -> None:
    descriptions = Descriptions(
        outputs={0: Description(labels=("???", *LABELS)), 3: Description(threshold=0.6)}
    )
    found = answer(Question(SIGNATURE, descriptions), (0.5, 0.25, 0.75))
    assert [(each.label, each.score) for each in found.found] == [("dog", 0.75)]
    found = answer(Question(SIGNATURE, descriptions, threshold=0.0), (0.5, 0.25, 0.75))
    assert [each.label for each in found.found] == ["dog", "ant", "bee"]
    question = Question(SIGNATURE, Descriptions(outputs={0: Description(labels=LABELS[:3])}))
    assert answer(question, (1, 1, 1)).found[0].label == ""
    assert question.notes == [
        "labels are left out: the model's metadata names 3 classes, but the model has 4"
    ]


def test_boxes_are_printed_and_drawn_where_they_are() -> None:
    found = Detections([Detection(2, "[red]cat\x1b", 0.75, (0.25, 0.5, 1.0, 1.0))], 9, 0.5)
    text = shown(found, (200, 100))
    assert "1 of 9, score 0.5 or more" in text
    assert r"[red]cat\x1b" in text
    assert [word for word in text.split() if word.isdigit()][-5:] == ["2", "50", "50", "200", "100"]
    assert "0.250" in shown(found, None)
    canvas = Canvas(Image.new("RGB", (200, 100), "white"))
    Detections([Detection(2, "cat", 0.75, (0.25, 0.5, 0.75, 0.9))], 1, 0.5).draw(canvas)
    pixels = np.asarray(canvas.image)
    for x, y in ((50, 80), (150, 80), (100, 90)):
        assert tuple(pixels[y, x]) == colour(3)
    assert (pixels[60:85, 60:140] == 255).all()
    assert (pixels[:, 160:] == 255).all()
    assert (pixels[30:50, 50:100] != 255).any()  # the label, above
