"""Figures of a model on data, from the records of all samples."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm_qnn.evaluate.journal import Journal, Record
from tvm_qnn.evaluate.pool import Runner
from tvm_qnn.evaluate.samples import Sample
from tvm_qnn.evaluate.worker import Job


@dataclass(frozen=True)
class Evaluation:
    """What was found.

    Attributes:
        job: what was asked.
        records: of all samples, in their order.
        figures: as JSON can hold them. They follow from the records alone, so they are the same
            whoever made these.
    """

    job: Job
    records: tuple[Record, ...]
    figures: dict[str, Any]


def journal_of(job: Job, model: str, path: Path | None) -> Journal:
    """Return the journal of what is asked.

    Args:
        job: what is asked.
        model: the digest of our model.
        path: of the journal's file; None: in memory.

    Raises:
        QnnError: if the file is of another evaluation.
    """
    asked = hashlib.sha256(repr((model, job.feed, job.task, job.data.kind)).encode())
    if job.beside is not None:
        asked.update(job.beside.peer.content)
        asked.update(repr((job.beside.feed, job.beside.task)).encode())
    return Journal(path, asked.hexdigest(), _keys(job.data.samples))


def evaluate(
    job: Job, run: Runner, journal: Journal, advance: Callable[[], None] = lambda: None
) -> Evaluation:
    """Run the samples that are not in the journal yet, and count.

    Args:
        job: what is asked.
        run: what runs samples.
        journal: what was done so far.
        advance: is called after each sample.

    Raises:
        QnnError: if a sample cannot be read or does not fit; says which one.
    """
    places = [place for place in range(len(job.data.samples)) if place not in journal.records]
    with journal.kept(run(job, places) if places else ()) as records:
        for _ in records:
            advance()
    ordered = tuple(journal.records[place] for place in range(len(job.data.samples)))
    return Evaluation(job, ordered, _figures(job, ordered))


def _figures(job: Job, records: Sequence[Record]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "samples": len(records),
        "kind": job.data.kind,
        "figures": job.task.figures(job.data, records),
        "beside": None,
    }
    if job.beside is None:
        return found
    theirs = [record["beside"] for record in records]
    compared = [
        (sample, record["differing"])
        for sample, record in zip(job.data.samples, records, strict=True)
        if record["differing"] is not None
    ]
    pairs = zip(records, theirs, strict=True)
    unequal = [(sample, each) for sample, each in compared if each["differing"]]
    found["beside"] = {
        "title": job.beside.peer.title,
        "figures": job.beside.task.figures(job.data, theirs),
        "agreeing": sum(job.task.agrees(*pair) for pair in pairs),
        "compared": len(compared),
        "equal": len(compared) - len(unequal),
        "elements": sum(each["elements"] for _, each in compared),
        "differing": sum(each["differing"] for _, each in compared),
        "first": {"sample": unequal[0][0].name, **unequal[0][1]["first"]} if unequal else None,
    }
    return found


def _keys(samples: Sequence[Sample]) -> dict[str, int]:
    """Return the places of samples by their keys, with a number for one that is there twice."""
    seen: Counter[str] = Counter()
    keys = {}
    for place, sample in enumerate(samples):
        key = sample.key()
        keys[f"{seen[key]} {key}"] = place
        seen[key] += 1
    return keys
