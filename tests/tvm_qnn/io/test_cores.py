import os
import sys

import pytest

from tvm_qnn.io.cores import on_cores


@pytest.mark.skipif(sys.platform != "linux", reason="threads cannot be bound here")
def test_threads_are_kept_on_cores() -> None:
    before = os.sched_getaffinity(0)
    with on_cores(1):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before


def test_where_threads_cannot_be_bound_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with on_cores(1):
        pass
