from pathlib import Path

import numpy as np
import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.answers.classes import ClassesReading
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import CLASSES, Data, Sample
from tvm_qnn.evaluate.tasks.classification import Classification
from tvm_qnn.io.preparation import Preparation

INFO = TensorInfo("y", (1, 8), "int8", 0.5, -10)
FEED = Feed((), Preparation(), None)
TASK = Classification(ClassesReading((INFO,), (), 5), (0,))


def test_figures_are_scikit_learn_s() -> None:
    from sklearn import metrics

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 8, 60)
    scores = np.stack([rng.permutation(16)[:8] for _ in labels]).astype(np.int8)  # no two equal
    scores[np.arange(60), labels] += 9 * rng.integers(0, 2, 60, np.int8)
    samples = tuple(Sample(Path("x"), "", label=int(label)) for label in labels)
    records = [
        TASK.record(FEED, sample, [row[None]]) for sample, row in zip(samples, scores, strict=True)
    ]
    found = TASK.figures(Data(CLASSES, samples), records)
    # Equal scores: the first counts.
    predicted = scores.argmax(1)
    expected = metrics.confusion_matrix(labels, predicted)
    matrix = np.zeros_like(expected)
    for truth, taken, count in found["confusion"]:
        matrix[truth, taken] = count
    assert np.array_equal(matrix, expected)
    precision, recall, _, _ = metrics.precision_recall_fscore_support(labels, predicted)
    assert [row["precision"] for row in found["classes"]] == pytest.approx(precision)
    assert [row["recall"] for row in found["classes"]] == pytest.approx(recall)
    assert found["top1"] == np.mean(labels == predicted)
    order = np.argsort(-scores.astype(int), 1, kind="stable")[:, :5]
    assert found["top5"] == np.mean((order == labels[:, None]).any(1))
    assert abs(found["top5"] - metrics.top_k_accuracy_score(labels, scores, k=5)) < 0.1


def test_faults_and_records_of_other_models() -> None:
    sample = Sample(Path("x"), "", label=2)
    faults = [
        TASK.fault(sample, TASK.record(FEED, sample, [np.array([row], np.int8)]))
        for row in ([0, 0, 9, 0, 0, 0, 0, 0], [5, 0, 3, 0, 0, 0, 0, 0], [9, 0, 9, 0, 0, 0, 0, 0])
    ]
    assert faults[0] == 0
    assert faults[1] == 1.0
    assert 0 < faults[2] < 1e-6  # the first of equal scores counts
    other = TASK.on([TensorInfo("z", (1, 3), "float32")])
    record = other.record(FEED, Sample(Path("x"), "", label=1), [np.array([[0.5, 2, 1]])])
    assert record == {"top": [1, 2, 0], "score": 2.0, "truth": 2.0}
