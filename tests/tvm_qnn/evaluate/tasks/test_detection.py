import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.answers.detections import DetectionsReading
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import BOXES, Data, Sample
from tvm_qnn.evaluate.tasks import task_of
from tvm_qnn.evaluate.tasks.detection import Detection
from tvm_qnn.io.preparation import Preparation

pytest.importorskip("pycocotools", reason="pycocotools is not installed")

ROLES = {"boxes": (1, 2, 4), "classes": (1, 2), "scores": (1, 2), "count": (1,)}
INFOS = tuple(TensorInfo(name, ROLES[name], "float32", role=name, classes=3) for name in ROLES)
TASK = Detection(DetectionsReading(INFOS, (), 0.0), (0, 1, 2, 3))
TRUTH = {"id": 1, "image_id": 7, "category_id": 2, "bbox": [50, 0, 50, 100], "area": 5000}
DATA = Data(
    BOXES,
    (Sample(Path("x"), "", image=7),),
    annotations={
        "images": [{"id": 7, "width": 200, "height": 100}],
        "categories": [{"id": 1}, {"id": 2}],
        "annotations": [{**TRUTH, "iscrowd": 0}],
    },
)


def figures(box: list[float], kind: float = 2, count: int = 1) -> dict[str, Any]:
    outputs = [
        np.array([[box, [0, 0, 0, 0]]], np.float32),
        np.array([[kind, 0]], np.float32),
        np.array([[0.9, 0]], np.float32),
        np.array([count], np.float32),
    ]
    record = TASK.record(Feed((), Preparation(), None), DATA.samples[0], outputs)
    return TASK.figures(DATA, [record])


def test_a_box_that_fits_and_others() -> None:
    # Top, left, bottom and right, as parts of 200 × 100 pixels: the truth's own place.
    exact = figures([0, 0.25, 1, 0.5])
    assert [exact[name] for name in ("map", "map_50", "recall_1")] == pytest.approx([1, 1, 1])
    assert exact["map_small"] is None
    half = figures([0, 0.25, 0.6, 0.5])  # IoU 0.6
    assert half["map_50"] == pytest.approx(1)
    assert half["map_75"] == 0
    assert half["map"] == pytest.approx(0.3)  # of 0.50, 0.55, … 0.95 the first three
    assert figures([0, 0.25, 1, 0.5], kind=1)["map"] == 0
    assert figures([0, 0.25, 1, 0.5], count=0)["map"] == 0


def test_missing_pycocotools_is_told_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycocotools", None)
    monkeypatch.setitem(sys.modules, "pycocotools.cocoeval", None)
    with pytest.raises(QnnError, match=r"^computing COCO's .*'tvm-qnn\[evaluate\]'"):
        task_of(BOXES, [DetectionsReading(INFOS, (), 0.3)], INFOS)
