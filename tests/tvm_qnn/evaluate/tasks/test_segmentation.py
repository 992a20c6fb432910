from pathlib import Path

import numpy as np
import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tests.support.pictures import write_picture
from tvm_qnn.answers.masks import MaskReading
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import MASKS, Data, Sample
from tvm_qnn.evaluate.tasks.segmentation import IGNORED, Segmentation
from tvm_qnn.io.preparation import Preparation

SIZE = (6, 9)
FEED = Feed.of((TensorInfo("x", (1, *SIZE, 3), "uint8"),), {}, Preparation())
MAP = TensorInfo("y", (1, *SIZE), "int32", role="map", classes=4)
TASK = Segmentation(MaskReading((MAP,), (), 5, "", True), (0,), 4)


def test_figures_are_scikit_learn_s(tmp_path: Path) -> None:
    from sklearn import metrics

    rng = np.random.default_rng(0)
    truths, found = rng.integers(0, 4, (2, 3, *SIZE))
    truths[rng.uniform(size=truths.shape) < 0.2] = IGNORED
    samples = []
    for place, truth in enumerate(truths):
        path = tmp_path / f"{place}.png"
        write_picture(path, truth)
        samples.append(Sample(path, "", mask=path))
    records = [
        TASK.record(FEED, sample, [array[None].astype(np.int32)])
        for sample, array in zip(samples, found, strict=True)
    ]
    figures = TASK.figures(Data(MASKS, tuple(samples)), records)
    counted = truths != IGNORED
    pair = truths[counted], found[counted]
    assert figures["mean_iou"] == pytest.approx(metrics.jaccard_score(*pair, average="macro"))
    assert [row["iou"] for row in figures["classes"]] == pytest.approx(
        metrics.jaccard_score(*pair, average=None)
    )
    assert figures["accuracy"] == metrics.accuracy_score(*pair)
    assert TASK.fault(samples[0], records[0]) > 0


def test_classes_out_of_range_are_told_and_places_do_not_all_count(tmp_path: Path) -> None:
    write_picture(tmp_path / "m.png", np.full(SIZE, 4))
    sample = Sample(tmp_path / "m.png", "", mask=tmp_path / "m.png")
    with pytest.raises(QnnError, match=r"m.png: class 4 is out of range: the model has 4 classes"):
        TASK.record(FEED, sample, [np.zeros((1, *SIZE), np.int32)])
    write_picture(tmp_path / "m.png", np.full(SIZE, IGNORED))
    sample = Sample(tmp_path / "m.png", "", mask=tmp_path / "m.png")
    record = TASK.record(FEED, sample, [np.zeros((1, *SIZE), np.int32)])
    figures = TASK.figures(Data(MASKS, (sample,)), [record])
    assert (figures["mean_iou"], figures["classes"]) == (None, [])
    assert TASK.fault(sample, record) == 0
