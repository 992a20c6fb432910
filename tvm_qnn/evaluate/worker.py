"""Runs samples one after another: in this process, or in several of one thread each."""

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.peers import Peer, Session
from tvm_qnn.evaluate.samples import Data
from tvm_qnn.evaluate.tasks.task import Task
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.library import Library

_FOUND = "count"  # the role of the output with the number of detections


@dataclass(frozen=True)
class Beside:
    """A second model that runs beside ours.

    Attributes:
        peer: the model and its framework.
        feed: makes its inputs.
        task: evaluates its outputs.
    """

    peer: Peer
    feed: Feed
    task: Task


@dataclass(frozen=True)
class Job:
    """Everything that a worker needs; it is sent to other processes and machines.

    Attributes:
        library: our model, pickled once for all workers; empty if the worker has it.
        data: all samples.
        feed: makes the model's inputs.
        task: evaluates its outputs.
        beside: the second model, if there is one.
    """

    library: bytes
    data: Data
    feed: Feed
    task: Task
    beside: Beside | None


class Worker:
    """A model with one thread, and the second model if there is one."""

    def __init__(self, job: Job, library: Library | None = None) -> None:
        """Load the models.

        Args:
            job: the job.
            library: our model, if it is already loaded.

        Raises:
            QnnError: if a model cannot be loaded here.
        """
        self._job = job
        self._library: Library = pickle.loads(job.library) if library is None else library
        self._peer: Session | None = None
        self._peer = self._beside()

    def record(self, place: int) -> dict[str, Any]:
        """Return the record of the sample with an index.

        Raises:
            QnnError: if it cannot be read or does not fit; the message names it.
        """
        job = self._job
        sample = job.data.samples[place]
        inputs = job.feed.arrays(sample)
        if self._library.signature.states:
            self._library.reset()
        outputs = results_of(self._library.run(*inputs))
        record = {"place": place, **job.task.record(job.feed, sample, outputs)}
        if job.beside is None:
            return record
        beside = job.beside
        same = beside.feed is job.feed
        if self._library.signature.states:
            self._peer = self._beside()  # not every framework can reset a state
        assert self._peer is not None
        theirs = self._peer.run(inputs if same else beside.feed.arrays(sample))
        record["beside"] = beside.task.record(beside.feed, sample, theirs)
        record["differing"] = differing(self._library.outputs, outputs, theirs)
        return record

    def _beside(self) -> Session | None:
        return None if self._job.beside is None else self._job.beside.peer.start()


def differing(
    infos: Sequence[TensorInfo], ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]
) -> dict[str, Any] | None:
    """Return how many elements differ, and the first that does.

    Only detections that were found count: LiteRT does not write the elements behind them.

    Args:
        infos: our outputs.
        ours: their elements.
        theirs: the elements of the other model's outputs.

    Returns:
        None if outputs differ in shape or dtype and cannot be compared.
    """
    pairs = [*zip(ours, theirs, strict=False)]
    if len(ours) != len(theirs) or any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
        return None
    roles = [info.role for info in infos]
    found = int(np.nan_to_num(ours[roles.index(_FOUND)].flat[0])) if _FOUND in roles else None
    count = elements = 0
    first = None
    for info, mine, other in zip(infos, ours, theirs, strict=True):
        if found is not None and info.role not in ("", _FOUND):
            mine, other = mine[:, :found], other[:, :found]
        unequal = (mine != other) & ~((mine != mine) & (other != other))
        count += int(np.count_nonzero(unequal))
        elements += mine.size
        if first is None and unequal.any():
            index = tuple(np.argwhere(unequal)[0].tolist())
            first = {
                "output": info.name,
                "index": list(index),
                "ours": mine[index].item(),
                "theirs": other[index].item(),
            }
    return {"elements": elements, "differing": count, "first": first}


Runner = Callable[[Job, Sequence[int]], Iterator[dict[str, Any]]]
"""Yields the records of the samples with some indices, in any order."""

_TURNS, _MOST = 16, 32  # the fewest parts for each worker; the most samples of a part

_worker: Worker | None = None  # one in each process
_failed: QnnError | None = None


def in_process(library: Library) -> Runner:
    """Return a runner that runs samples in this process."""

    def run(job: Job, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        worker = Worker(job, library)
        for place in places:
            yield worker.record(place)

    return run


def in_processes(count: int) -> Runner:
    """Return a runner that runs samples in several processes."""

    def run(job: Job, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        # Not forked: a fork has neither TVM's threads nor LiteRT's.
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
    """Return the indices in parts, several for each worker."""
    size = max(1, min(_MOST, len(places) // (workers * _TURNS)))
    return [places[start : start + size] for start in range(0, len(places), size)]


def _begin(job: Job) -> None:
    """Load the models in a new process, which ignores Ctrl-C."""
    global _worker, _failed
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _worker = Worker(job)
    except QnnError as error:  # the executor would not report the error of an initializer
        _failed = error


def _turn(places: Sequence[int]) -> list[dict[str, Any]]:
    if _worker is None:
        raise _failed or QnnError("a process of the evaluation was not started")
    return [_worker.record(place) for place in places]
