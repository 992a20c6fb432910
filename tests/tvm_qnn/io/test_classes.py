from pathlib import Path

import numpy as np
import pytest

from qnn_ops.dialect.signature import TensorInfo
from qnn_ops.errors import QnnError
from tests.support.errors import fails, giving
from tvm_qnn.io.classes import Guess, best_classes, fitted_labels, is_classifier, read_labels

INFO = TensorInfo("scores", (1, 4), "uint8", 0.25, 4)


def labels_file(folder: Path, count: int) -> Path:
    path = folder / "labels.txt"
    path.write_text("".join(f"class {i}\n" for i in range(count)))
    return path


def test_the_best_classes_come_first_and_equals_in_order() -> None:
    scores = np.array([[4, 255, 4, 8]], np.uint8)
    names = ("ant", "bee", "cat", "dog")
    assert best_classes(scores, INFO, names, 3) == [
        Guess(1, 62.75, "bee"),
        Guess(3, 1.0, "dog"),
        Guess(0, 0.0, "ant"),
    ]
    scores = np.array([0.5, -1.5], np.float32)
    assert best_classes(scores, TensorInfo("scores", (2,), "float32")) == [
        Guess(0, 0.5, ""),
        Guess(1, -1.5, ""),
    ]


def test_a_background_is_dropped_or_added_as_the_model_needs(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    for name in ("background", "???", " Background"):
        path.write_text(f"{name}\nant\nbee\n")
        assert read_labels(path, 2) == ("ant", "bee")
        assert read_labels(path, 3) == (name, "ant", "bee")
    names = read_labels(labels_file(tmp_path, 1000), 1001)
    assert names[:2] == ("background", "class 0")


@pytest.mark.parametrize(("lines", "classes"), [(3, 2), (2, 3), (999, 1000), (1001, 1000)])
def test_a_line_too_few_or_many_shifts_no_name(tmp_path: Path, lines: int, classes: int) -> None:
    with pytest.raises(QnnError, match=f"names {lines} classes, but the model has {classes}"):
        read_labels(labels_file(tmp_path, lines), classes)


def test_labels_that_do_not_fit_are_errors(tmp_path: Path) -> None:
    with pytest.raises(QnnError, match=r"labels\.txt names 7 classes, but the model has 5"):
        read_labels(labels_file(tmp_path, 7), 5)
    fails("cannot read the labels", read_labels, tmp_path / "missing.txt", 5)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    fails("cannot read the labels", read_labels, tmp_path / "binary", 5)
    path = tmp_path / "labels.txt"
    path.write_text("\n".join(["background", *map(str, range(999))]))
    fails(r"names 1000 classes, but the model has 1001$", read_labels, path, 1001)
    names = tuple(map(str, range(1000)))
    with pytest.raises(QnnError, match="it names 1000 classes, but the model has 1001"):
        fitted_labels(names, 1001, "it", add_background=False)


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_integers_that_stand_for_nothing_are_no_scores(dtype: str) -> None:
    assert not is_classifier(TensorInfo("places", (1, 10), dtype))


test_a_classifier_gives_a_score_for_each_class = giving(
    lambda shape: is_classifier(TensorInfo("x", shape, "int8")),
    ((1, 10), True),
    ((10,), True),
    ((1, 1, 1, 10), True),
    ((1, 8, 8, 10), False),
    ((), False),
)
