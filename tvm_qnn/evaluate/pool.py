"""Workers: in this process, or in several with one thread each."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.worker import Job, Worker
from tvm_qnn.library.library import Library

Runner = Callable[[Job, Sequence[int]], Iterator[dict[str, Any]]]
"""Yields the record of each of some samples, by their places, in any order."""

_TURNS, _MOST = 16, 32  # turns that a worker gets at least; samples of a turn at most

_worker: Worker | None = None  # of a process


def in_process(library: Library) -> Runner:
    """Return what runs samples here."""

    def run(job: Job, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        worker = Worker(job, library)
        for place in places:
            yield worker.record(place)

    return run


def in_processes(count: int) -> Runner:
    """Return what runs samples in so many processes."""

    def run(job: Job, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        # Not forked: neither TVM's threads nor LiteRT's would come along.
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(count, context, _begin, (job,))
        try:
            turns = [executor.submit(_turn, part) for part in parts(places, count)]
            for done in as_completed(turns):
                yield from done.result()
        except BrokenProcessPool as error:
            raise QnnError(
                "a process of the evaluation ended by itself: the framework's own kernels may end "
                "it, or the memory was full; try --alone, or fewer --jobs"
            ) from error
        finally:
            executor.shutdown(cancel_futures=True)

    return run


def parts(places: Sequence[int], workers: int) -> list[Sequence[int]]:
    """Return indices in parts, several for each worker."""
    size = max(1, min(_MOST, len(places) // (workers * _TURNS)))
    return [places[start : start + size] for start in range(0, len(places), size)]


def _begin(job: Job) -> None:
    """Load the models in a process, which Ctrl-C is not for."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = None
    _start(job)


_failed: QnnError | None = None


def _start(job: Job) -> None:
    global _worker, _failed
    try:
        _worker = Worker(job)
    except QnnError as error:  # an initializer that fails is told without its reason
        _failed = error


def _turn(places: Sequence[int]) -> list[dict[str, Any]]:
    if _worker is None:
        raise _failed or QnnError("a process of the evaluation was not started")
    return [_worker.record(place) for place in places]
