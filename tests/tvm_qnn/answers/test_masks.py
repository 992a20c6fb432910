"""The classes of a picture's positions."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from frontends.summary import Description, Descriptions
from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from qnn_ops.errors import QnnError
from tests.support.answers import shown
from tvm_qnn.answers.canvas import Canvas, colour
from tvm_qnn.answers.masks import Mask, Region, find
from tvm_qnn.answers.question import Question

PICTURE = TensorInfo("x", (1, 8, 16, 3), "uint8", 1.0, 0)
MAP = TensorInfo("map", (1, 2, 2), "int64", role="map", classes=3)


def ask(info: TensorInfo, *labels: str, inputs: tuple[TensorInfo, ...] = (PICTURE,)) -> Question:
    descriptions = Descriptions(outputs={0: Description(labels)})
    return Question(Signature(inputs, (info,)), descriptions)


def mask(question: Question, array: object, dtype: str = "int64") -> Mask:
    (reading,) = find(question)
    found = reading.answer([np.array(array, dtype)])
    assert isinstance(found, Mask)
    return found


def test_a_map_or_scores_are_a_mask_beside_one_picture() -> None:
    found = mask(ask(MAP, "wall", "cat", "dog"), [[[2, 2], [0, 2]]])
    assert found.regions == [Region(2, "dog", 0.75), Region(0, "wall", 0.25)]
    assert found.places.tolist() == [[2, 2], [0, 2]]
    assert found.fields()["mask"]["height"] == 2
    question = ask(MAP)
    question.top = 1
    assert len(mask(question, [[[2, 2], [0, 2]]]).regions) == 1
    assert "1 of 2 classes" in shown(mask(question, [[[2, 2], [0, 2]]]))
    info = TensorInfo("y", (1, 1, 2, 3), "int8", 0.1, 0, role="probabilities", classes=3)
    assert mask(ask(info), [[[[1, 5, 5], [-3, -4, 2]]]], "int8").places.tolist() == [[1, 2]]
    array = TensorInfo("x", (1, 5), "int8")
    assert find(ask(MAP, inputs=(array,))) == []
    assert find(ask(MAP, inputs=(PICTURE, PICTURE))) == []


@pytest.mark.parametrize(
    ("shape", "labels", "reason"),
    [
        ((1, 8, 16, 21), (), "which has the size of the input"),
        ((1, 8, 16, 3), (), ""),  # it may be a picture
        ((1, 4, 8, 21), (), ""),  # it may be features
        ((1, 8, 16, 3), ("a", "b", "c"), "as many are named"),
        ((1, 8, 16, 1), (), ""),
        ((2, 8, 16, 21), (), ""),
        ((1, 8, 16), (), ""),
    ],
)
def test_scores_are_a_mask_only_if_that_is_certain(
    shape: tuple[int, ...], labels: tuple[str, ...], reason: str
) -> None:
    found = find(ask(TensorInfo("y", shape, "int8", 0.1, 0), *labels))
    assert len(found) == bool(reason)
    assert all(reason in each.taken_for for each in found)


def test_given_labels_must_fit(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("a\nb\nc\nd\ne\n")
    with pytest.raises(QnnError, match=r"labels\.txt names 5 classes, but the model has 3"):
        find(Question(Signature((PICTURE,), (MAP,)), labels=path))


def test_a_mask_is_laid_over_the_picture_with_a_legend() -> None:
    canvas = Canvas(Image.new("RGB", (200, 100), "white"))
    mask(ask(MAP), [[[0, 1], [2, 2]]]).draw(canvas)
    pixels = np.asarray(canvas.image).astype(int)
    for index, (x, y) in {1: (150, 20), 2: (150, 80)}.items():
        expected = 0.6 * np.array(colour(index)) + 0.4 * 255
        assert abs(pixels[y, x] - expected).max() <= 1
    assert (pixels[:40, :90] == 255).all(), "the background is clear"
    assert tuple(pixels[-1, 0]) == colour(2)  # the legend's first entry is the largest
    canvas = Canvas(Image.new("RGB", (200, 100), "white"))
    mask(ask(MAP, "road", "Background", "car"), [[[0, 0], [1, 1]]]).draw(canvas)
    pixels = np.asarray(canvas.image)
    assert (pixels[:40] != 255).any(-1).all()
    assert (pixels[55:, 100:] == 255).all()
    canvas = Canvas(Image.new("RGB", (20, 10)))
    mask(ask(MAP, "a", "b", "c"), [[[-5, 1 << 62], [3, 9]]]).draw(canvas)
