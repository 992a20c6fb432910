"""Lists of pictures and labels, in CSV and in lines of JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import CLASSES, Classes, Data, Sample

_COLUMNS = ("path", "label")


def read_csv(path: Path, classes: Classes) -> Data:
    """Read paths and labels from the columns of these names, or else from the first two.

    Raises:
        QnnError: for what is wrong in the file, with its line.
    """
    return _read(path, classes, _csv_rows(path))


def read_json_lines(path: Path, classes: Classes) -> Data:
    """Read the fields path and label of an object in each line.

    Raises:
        QnnError: as ``read_csv``.
    """
    return _read(path, classes, _json_rows(path))


def _read(path: Path, classes: Classes, rows: Iterator[tuple[str, Any, Any]]) -> Data:
    samples = []
    for where, name, label in rows:
        if not isinstance(name, str) or not name:
            raise QnnError(f"{where}: the path is no text: {name!r}")
        if not isinstance(label, str | int) or isinstance(label, bool):
            raise QnnError(f"{where}: the label is neither a name nor an integer: {label!r}")
        picture = path.parent / name
        if not picture.is_file():
            raise QnnError(f"{where}: there is no file {picture}")
        index = classes.index(label.strip() if isinstance(label, str) else label, where)
        samples.append(Sample(picture, where, label=index))
    return Data(CLASSES, tuple(samples))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise QnnError(f"{path} is no text in UTF-8: {error}") from error


def _csv_rows(path: Path) -> Iterator[tuple[str, Any, Any]]:
    reader = csv.reader(_text(path).splitlines(keepends=True), strict=True)
    places: tuple[int, ...] | None = None
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if places is None:
                names = [cell.strip().lower() for cell in row]
                has_names = set(_COLUMNS) <= set(names)
                places = tuple(map(names.index, _COLUMNS)) if has_names else (0, 1)
                if has_names:
                    continue
            if len(row) <= max(places):
                raise QnnError(f"{where}: a path and a label are needed, got {','.join(row)!r}")
            yield where, row[places[0]].strip(), row[places[1]]
    except csv.Error as error:
        raise QnnError(f"{path}, line {reader.line_num}: {error}") from error


def _json_rows(path: Path) -> Iterator[tuple[str, Any, Any]]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QnnError(f"{where} is no JSON: {error}") from error
        if not isinstance(fields, dict) or not set(_COLUMNS) <= fields.keys():
            raise QnnError(f"{where}: an object with path and label is needed, got {line.strip()}")
        yield where, fields["path"], fields["label"]
