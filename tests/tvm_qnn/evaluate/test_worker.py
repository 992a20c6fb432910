"""What workers do: here, and in processes."""

import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.peers import Peer
from tvm_qnn.evaluate.samples import NOTHING, Data, Sample
from tvm_qnn.evaluate.tasks.task import Task
from tvm_qnn.evaluate.worker import Beside, Job, differing, in_processes, parts
from tvm_qnn.io.preparation import Preparation

SCORES = TensorInfo("y", (1, 3), "int8")
FOUND = [
    TensorInfo("boxes", (1, 2, 4), "float32", role="boxes"),
    TensorInfo("count", (1,), "float32", role="count"),
]


def array(*values: float, dtype: str = "int8") -> np.ndarray:
    return np.array([values], dtype)


def test_outputs_are_equal_differ_or_are_of_another_kind() -> None:
    found = differing([SCORES], [array(1, 2, 3)], [array(1, 2, 3)])
    assert found == {"elements": 3, "differing": 0, "first": None}
    reals = array(np.nan, 2, 3, dtype="float32")
    assert differing([SCORES], [reals], [reals.copy()]) == found
    found = differing([SCORES], [array(1, 2, 3)], [array(1, 5, 4)])
    assert found == {
        "elements": 3,
        "differing": 2,
        "first": {"output": "y", "index": [0, 1], "ours": 2, "theirs": 5},
    }
    found = differing([TensorInfo("y", (), "int8")], [np.array(1)], [np.array(2)])
    assert found is not None
    assert found["first"] == {"output": "y", "index": [], "ours": 1, "theirs": 2}
    assert differing([SCORES], [array(1)], [array(1, dtype="float32")]) is None
    assert differing([SCORES], [array(1)], [array(1, 2)]) is None
    assert differing([SCORES], [array(1)], []) is None
    boxes = np.zeros((1, 2, 4), np.float32)
    other = boxes.copy()
    other[0, 1] = 7
    for count, expected in ((1, 0), (2, 4)):
        number = np.array([count], np.float32)
        found = differing(FOUND, [boxes, number], [other, number])
        assert found is not None
        assert found["differing"] == expected


def job(beside: Peer | None = None) -> Job:
    sample = Sample(Path("x.npz"), "x.npz, row 0", row=0)
    feed = Feed.of((TensorInfo("x", (1, 2), "int8"),), {}, Preparation())
    other = None if beside is None else Beside(beside, feed, Task())
    return Job(pickle.dumps(None), Data(NOTHING, (sample,)), feed, Task(), other)


@pytest.mark.parametrize(("count", "workers", "size"), [(5, 2, 1), (320, 2, 10), (10_000, 2, 32)])
def test_parts_are_all_of_it_and_small(count: int, workers: int, size: int) -> None:
    found = parts(range(count), workers)
    assert [place for part in found for place in part] == [*range(count)]
    assert max(map(len, found)) == size


def test_a_process_that_fails_or_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QnnError, match="LiteRT rejects the model"):
        [*in_processes(1)(job(Peer("LiteRT", "TFLite", b"nothing")), [0])]

    def submit(self: Any, function: Any, part: Sequence[int]) -> Any:
        return original(self, os._exit, 3)

    original = ProcessPoolExecutor.submit
    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)
    with pytest.raises(QnnError, match="ended by itself"):
        [*in_processes(1)(job(), [0])]
