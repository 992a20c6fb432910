"""What was done so far: one line for each sample, so that an evaluation can be gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.io.text import to_json

Record = Mapping[str, Any]

NAME = "journal.jsonl"
"""Of the file, in the folder of an evaluation."""


class Journal:
    """Records of samples, each once, in a file or in memory alone."""

    def __init__(self, path: Path | None, asked: str, keys: Mapping[str, int]) -> None:
        """Read what a file holds.

        Args:
            path: of the file, which need not exist; None: in memory alone.
            asked: what records follow from, beside the samples, as a digest.
            keys: places of the samples by their keys: records of others are left out.

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
        """Yield records one by one, which are then in the file; those of known samples are not."""
        if self._path is None:
            yield self._taken(records)
            return
        # Anew, and not at the end: what a stopped program wrote may end in half a line.
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
                # As it would be read: the same figures whether it was stopped or not.
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
