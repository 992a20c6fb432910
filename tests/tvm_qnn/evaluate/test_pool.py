from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qnn_ops.errors import QnnError
from qnn_ops.tensor_info import TensorInfo
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.peers import Peer
from tvm_qnn.evaluate.pool import in_processes, parts
from tvm_qnn.evaluate.samples import NOTHING, Data, Sample
from tvm_qnn.evaluate.tasks.unlabelled import Unlabelled
from tvm_qnn.evaluate.worker import Beside, Job
from tvm_qnn.io.preparation import Preparation


def job(beside: Peer | None = None) -> Job:
    sample = Sample(Path("x.npz"), "x.npz, row 0", row=0)
    feed = Feed.of((TensorInfo("x", (1, 2), "int8"),), {}, Preparation())
    other = None if beside is None else Beside(beside, feed, Unlabelled())
    return Job(pickle.dumps(None), Data(NOTHING, (sample,)), feed, Unlabelled(), other)


@pytest.mark.parametrize(("count", "workers", "size"), [(5, 2, 1), (320, 2, 10), (10_000, 2, 32)])
def test_parts_are_all_of_it_and_small(count: int, workers: int, size: int) -> None:
    found = parts(range(count), workers)
    assert [place for part in found for place in part] == [*range(count)]
    assert max(map(len, found)) == size


def test_an_error_of_a_process_is_told() -> None:
    with pytest.raises(QnnError, match="LiteRT rejects the model"):
        [*in_processes(1)(job(Peer("LiteRT", "TFLite", b"nothing")), [0])]


def test_a_process_that_ends_by_itself_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def submit(self: Any, function: Any, part: Sequence[int]) -> Any:
        return original(self, os._exit, 3)

    original = ProcessPoolExecutor.submit
    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)
    with pytest.raises(QnnError, match="ended by itself"):
        [*in_processes(1)(job(), [0])]
