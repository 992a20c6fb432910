from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import CLASSES, NOTHING, Classes
from tvm_qnn.evaluate.sources import read_data

ROWS = np.zeros((3, 2, 2), np.uint8)


def write(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "x.npz", **arrays)
    return folder / "x.npz"


@pytest.mark.parametrize("labels", [[2, 0, 1], [[2], [0], [1]], ["fly", "ant", "bee"]])
def test_rows_have_labels(tmp_path: Path, labels: Any) -> None:
    path = write(tmp_path, pictures=ROWS, y=np.array(labels))
    data = read_data(path, Classes(3, ("ant", "bee", "fly")))
    assert data.kind == CLASSES
    assert [(each.row, each.label) for each in data.samples] == [(0, 2), (1, 0), (2, 1)]


def test_rows_may_have_none(tmp_path: Path) -> None:
    data = read_data(write(tmp_path, x=ROWS), Classes(0))
    assert (data.kind, len(data.samples)) == (NOTHING, 3)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": ROWS, "labels": np.arange(2)}, "equally many rows.* x 3, labels 2"),
        ({"x": ROWS[:0], "labels": np.arange(0)}, "one or more"),
        ({"labels": np.arange(2)}, "equally many rows"),
        ({"x": np.array(3)}, "equally many rows"),
        ({"x": ROWS, "y": np.arange(3), "label": np.arange(3)}, "by several names: label, y"),
        ({"x": ROWS, "y": np.zeros(3)}, "y needs an integer or a name for each row, got float64"),
        ({"x": ROWS, "y": np.array([0, 1, 10])}, "x.npz, row 2: label 10 is out of range"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(QnnError, match=message):
        read_data(write(tmp_path, **arrays), Classes(10))
