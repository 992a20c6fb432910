import os
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from benchmarks import worker
from benchmarks.peers.base import Peer

needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="threads cannot be bound here"
)


class Program(Peer):
    """One that stops when it is to load a model."""

    name, distribution, modules = "a program", "", ("a_module",)

    def __init__(self, events: list[Any]) -> None:
        self.events = events

    def load(self, file: Path, threads: int) -> NoReturn:
        self.events.append("load")
        raise RuntimeError(f"{file}, {threads}")


@needs_affinity
def test_a_program_is_imported_before_it_is_bound_to_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events: list[Any] = []
    monkeypatch.setattr(worker, "import_all", events.extend)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *bound: events.append(bound))
    np.savez(tmp_path / "inputs.npz", x=np.zeros(1))
    order = {"inputs": tmp_path / "inputs.npz", "file": "model", "threads": 1, "cores": [3]}
    with pytest.raises(RuntimeError, match="model, 1"):
        worker.load_model(Program(events), order)
    imported, *bound, loaded = events
    assert (imported, loaded) == ("a_module", "load")
    assert {(int(task), (3,)) for task in os.listdir("/proc/self/task")} == {
        (task, tuple(cores)) for task, cores in bound
    }


@needs_affinity
def test_times_of_a_program_that_left_its_cores_are_refused() -> None:
    cores = sorted(os.sched_getaffinity(0))
    worker._check_bound({"peer": "a_peer", "cores": cores})
    with pytest.raises(RuntimeError, match="a_peer runs on processors"):
        worker._check_bound({"peer": "a_peer", "cores": [max(cores) + 1]})
