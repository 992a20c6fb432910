"""Computes a model's figures on data from the records of all samples.

A journal holds one line for each sample, so that a stopped evaluation can go on.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import Sample
from tvm_qnn.evaluate.worker import Job, Runner
from tvm_qnn.io.text import to_json

Record = Mapping[str, Any]

NAME = "journal.jsonl"
"""The name of the journal's file in an evaluation's folder."""


class Journal:
    """The records of samples, one each, in a file or in memory only."""

    def __init__(self, path: Path | None, asked: str, keys: Mapping[str, int]) -> None:
        """Read the records of a file.

        Args:
            path: the file, which need not exist; None: the records stay in memory.
            asked: a digest of everything that decides the records, except the samples.
            keys: the index of each sample by its key. Records with other keys are left out.

        Raises:
            QnnError: if the file is of another evaluation.
        """
        self.records: dict[int, Record] = {}
        self._keys = {place: key for key, place in keys.items()}
        self._path, self._asked = path, asked
        if path is None or not path.exists():
            return
        lines = _lines(path)
        head = next(lines, None)
        if head is not None and head.get("asked") != asked:
            raise QnnError(
                f"{path} is of another evaluation (of other models, labels or options): remove it, "
                "or name another folder"
            )
        for record in lines:
            if (place := keys.get(record.pop("key", ""))) is not None:
                self.records[place] = {**record, "place": place}

    @contextmanager
    def kept(self, records: Iterable[Record]) -> Iterator[Iterator[Record]]:
        """Yield each new record after it is written; records of known samples are skipped."""
        if self._path is None:
            yield self._taken(records)
            return
        # Write the whole file again: a stopped program may have left half a line at its end.
        part = self._path.with_name(f".{NAME}.part")
        with part.open("w", encoding="utf-8") as file:
            file.write(to_json({"asked": self._asked}) + "\n")
            for place, record in self.records.items():
                file.write(to_json({"key": self._keys[place], **record}) + "\n")
        os.replace(part, self._path)
        with self._path.open("a", encoding="utf-8") as file:

            def written() -> Iterator[Record]:
                for record in self._taken(records):
                    file.write(to_json({"key": self._keys[record["place"]], **record}) + "\n")
                    file.flush()
                    yield record

            yield written()

    def _taken(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if record["place"] not in self.records:
                # As the file has it: an evaluation gives the same figures after a stop.
                plain = json.loads(to_json(record))
                self.records[record["place"]] = plain
                yield plain


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                fields = json.loads(line)
            except ValueError:  # half of the last line
                continue
            if isinstance(fields, dict):
                yield fields


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation.

    Attributes:
        job: the job.
        records: of all samples, in their order.
        figures: values that JSON can hold. They depend on the records alone, whichever process
            made these.
    """

    job: Job
    records: tuple[Record, ...]
    figures: dict[str, Any]


def journal_of(job: Job, model: str, path: Path | None) -> Journal:
    """Return the journal of a job.

    Args:
        job: the job.
        model: the digest of our model.
        path: the journal's file; None: in memory.

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
    """Run the samples that are not in the journal yet, and compute the figures.

    Args:
        job: the job.
        run: runs samples.
        journal: the records so far.
        advance: called after each sample.

    Raises:
        QnnError: if a sample cannot be read or does not fit; the message names it.
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
    """Return the index of each sample by its key; equal samples get keys with a number."""
    seen: Counter[str] = Counter()
    keys = {}
    for place, sample in enumerate(samples):
        key = sample.key()
        keys[f"{seen[key]} {key}"] = place
        seen[key] += 1
    return keys
