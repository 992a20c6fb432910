import json
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.commands import refused
from tests.support.linking import needs_linker
from tests.support.tflite import library_of
from tvm_qnn import digits
from tvm_qnn.answers.classes import ClassesReading
from tvm_qnn.cli import main
from tvm_qnn.evaluate.cluster import Cluster, check_ray
from tvm_qnn.evaluate.evaluation import evaluate, journal_of
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.peers import Peer
from tvm_qnn.evaluate.samples import Classes, Sample
from tvm_qnn.evaluate.sources import read_data
from tvm_qnn.evaluate.tasks.classification import Classification
from tvm_qnn.evaluate.worker import Beside, Job, in_process
from tvm_qnn.io.preparation import Preparation
from tvm_qnn.library.library import Library

COUNT = 120


def test_missing_ray_is_told_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(QnnError, match=r"pip install 'tvm-qnn\[ray\]'"):
        check_ray()
    (tmp_path / "d.tflite").write_bytes(digits.model("int8"))
    (tmp_path / "x").mkdir()
    words = ["evaluate", str(tmp_path / "d.tflite"), str(tmp_path / "x"), "--ray"]
    assert "--ray needs the package ray[data]" in refused(main, words)


@pytest.fixture
def nodes() -> Iterator[Any]:
    """Start a Ray cluster of two nodes, each of one processor."""
    pytest.importorskip("ray.data", reason="ray[data] is not installed: 'make test-ray'")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    size = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={**size, "include_dashboard": False}
    )
    cluster.add_node(**size)
    try:
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture
def library() -> Library:
    """Return the model of the digits."""
    return library_of(digits.model("int8"), "host", num_threads=1)


def job_of(library: Library, folder: Path, kind: type[Classification]) -> Job:
    """Return the evaluation of some digits together with LiteRT's."""
    rows, labels = digits.held_out()
    np.savez(folder / "x.npz", rows=rows[:COUNT], labels=labels[:COUNT])
    data = read_data(folder / "x.npz", Classes(10))
    feed = Feed.of(library.inputs, {}, Preparation())
    task = kind(ClassesReading(library.outputs, (), 5), (0,))
    beside = Beside(Peer("LiteRT", "TFLite", digits.model("int8")), feed, task)
    return Job(pickle.dumps(library), data, feed, task, beside)


@needs_linker
@pytest.mark.ray
@pytest.mark.slow
def test_a_node_that_is_killed_costs_nothing_and_counts_nothing_twice(
    nodes: Any, library: Library, tmp_path: Path
) -> None:
    # Within the test, so that Ray sends it along.
    @dataclass(frozen=True)
    class Slow(Classification):
        def record(self, feed: Feed, sample: Sample, outputs: Sequence[Any]) -> dict[str, Any]:
            time.sleep(0.02)
            return Classification.record(self, feed, sample, outputs)

    cluster = Cluster(nodes.address)
    given: list[int] = []

    def run(job: Job, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        is_whole = True
        for record in cluster(job, places):
            given.append(record["place"])
            if is_whole and len(cluster.nodes) == 2:
                nodes.remove_node(nodes.list_all_nodes()[-1], allow_graceful=False)
                is_whole = False
            yield record

    job = job_of(library, tmp_path, Slow)
    found = evaluate(job, run, journal_of(job, "", tmp_path / "journal"))
    assert len(cluster.nodes) == 2, "both have worked"
    assert sorted(given) == [*range(COUNT)]
    plain = job_of(library, tmp_path, Classification)
    expected = evaluate(plain, in_process(library), journal_of(plain, "", None))
    assert json.dumps(found.figures) == json.dumps(expected.figures)
    assert found.records == expected.records
    assert expected.figures["beside"]["equal"] == COUNT
    assert len((tmp_path / "journal").read_text().splitlines()) == COUNT + 1
    bad = Beside(Peer("LiteRT", "TFLite", b"nothing"), job.feed, job.task)
    with pytest.raises(QnnError, match="LiteRT rejects the model"):
        [*Cluster(nodes.address)(Job(job.library, job.data, job.feed, job.task, bad), [0])]
