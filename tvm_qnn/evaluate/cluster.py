"""Workers on a Ray cluster: actors of Ray Data, each with one thread."""

import json
import logging
import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from qnn_ops.errors import QnnError, needed
from tvm_qnn.evaluate.samples import Sample
from tvm_qnn.evaluate.worker import Job, Worker, parts
from tvm_qnn.io.text import to_json

# How often in a row the workers may end before they finish a sample, and the seconds that each
# pause is longer than the one before. Ray may still list a lost node for half a minute.
_VAIN, _PAUSE = 6, 2.0


def check_ray() -> None:
    """Check that Ray Data is installed.

    Raises:
        QnnError: if it cannot be imported.
    """
    with needed("--ray", "ray[data]", "'tvm-qnn[ray]'"):
        import ray.data  # noqa: F401


class Cluster:
    """A ``Runner`` that evaluates samples on a Ray cluster.

    Attributes:
        nodes: how many samples each node has run, by the node's id.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        """Name a cluster.

        Args:
            address: the cluster's, as ``ray.init`` takes it. If it is empty: the cluster that this
                machine belongs to, or else a new one of this machine alone.
            workers: the greatest number of workers; None: one for each processor of the cluster.
        """
        self._address, self._workers = address, workers
        self.nodes: Counter[str] = Counter()

    def __call__(self, job: Job, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the record of each sample exactly once, even if workers end.

        If a worker or a node ends, the remaining workers run its unfinished samples again.

        Raises:
            QnnError: if there is no such cluster, a sample is bad, or all workers end.
        """
        check_ray()
        import ray

        is_new = not ray.is_initialized()
        if is_new:
            self._connect()
        # Ray Data prints its plan and its progress.
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        try:
            yield from self._all(ray.put(_with_whole_paths(job)), places)
        finally:
            if is_new:
                ray.shutdown()

    def _connect(self) -> None:
        import ray

        try:
            ray.init(
                address=self._address or None, log_to_driver=False, logging_level=logging.ERROR
            )
        except Exception as error:  # ConnectionError, ValueError and others
            where = f" at {self._address}" if self._address else ""
            raise QnnError(f"there is no Ray cluster{where}: {error}") from error

    def _all(self, job: Any, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        from ray.exceptions import RayError

        left = dict.fromkeys(places)
        vain = 0
        while left:
            before = len(left)
            try:
                for record in self._some(job, [*left]):
                    if record["place"] in left:
                        del left[record["place"]]
                        yield record
            except RayError as error:
                vain = 0 if len(left) < before else vain + 1
                if vain == _VAIN:
                    raise QnnError(f"the workers on the Ray cluster end: {error}") from error
                time.sleep(vain * _PAUSE)

    def _some(self, job: Any, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield records until all are done, or a worker ends."""
        import ray

        resources: Any = ray.cluster_resources  # Ray does not annotate it
        count = self._workers or max(1, math.floor(resources().get("CPU", 1)))
        turns = parts(places, count)
        count = min(count, len(turns))
        with warnings.catch_warnings():
            # Ray warns of options that a later release drops; setup.py excludes that release.
            warnings.simplefilter("ignore", DeprecationWarning)
            rows = ray.data.from_items(
                [{"places": list(turn)} for turn in turns], override_num_blocks=len(turns)
            ).map_batches(
                _Actor,
                fn_constructor_args=(job,),
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(min_size=1, max_size=count, initial_size=count),
                num_cpus=1,
                # A restarted worker would wait for processors of a lost node, and keep its samples
                # waiting. The loop in ``_all`` runs the unfinished samples again.
                max_restarts=0,
            )
        for row in rows.iter_rows():
            found = json.loads(row["records"])
            self.nodes[row["node"]] += len(found)
            yield from found
            if row["error"]:
                raise QnnError(row["error"])


class _Actor:
    """A worker. It returns errors in its answer: Ray would wrap them, and lose their class."""

    def __init__(self, job: Any) -> None:
        """Load the models.

        Args:
            job: the reference of a ``Job``.
        """
        import ray

        self._node = ray.get_runtime_context().get_node_id()
        self._worker: Worker | None = None
        self._error = ""
        try:
            self._worker = Worker(ray.get(job))
        except QnnError as error:
            self._error = str(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Run the samples of a batch, whose rows each list the indices of some samples."""
        records: list[dict[str, Any]] = []
        error = self._error
        worker = self._worker
        if worker is not None:
            try:
                for place in batch["places"][0]:
                    records.append(worker.record(int(place)))
            except QnnError as bad:
                error = str(bad)
        return {"records": [to_json(records)], "error": [error], "node": [self._node]}


def _with_whole_paths(job: Job) -> Job:
    """Return the job with absolute paths: a worker has another current folder."""

    def whole(sample: Sample) -> Sample:
        mask = sample.mask and sample.mask.absolute()
        return replace(sample, path=sample.path.absolute(), mask=mask)

    return replace(job, data=replace(job.data, samples=tuple(map(whole, job.data.samples))))
