"""The results of the demonstration, as text, tables and a drawing."""

from pathlib import Path

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.demo.report import COLUMNS, MOST_WRONG, ROWS, chosen, draw_grid


def test_wrong_ones_are_drawn_first_but_not_alone(tmp_path: Path) -> None:
    labels = np.zeros(100, np.int64)
    predictions = labels.copy()
    predictions[[50, 70]] = 3
    picked = chosen(labels, predictions)
    assert picked[:4] == [50, 70, 0, 1]
    assert len(picked) == len(set(picked)) == ROWS * COLUMNS
    labels, predictions = np.zeros(100, np.int64), np.ones(100, np.int64)
    predictions[90:] = 0
    assert chosen(labels, predictions) == [*range(MOST_WRONG), *range(90, 100)]
    labels = np.array([1, 2])
    draw_grid(tmp_path / "few.png", np.zeros((2, 8, 8), np.uint8), labels, labels)
    assert (tmp_path / "few.png").stat().st_size > 0
    labels = np.array([1])
    with pytest.raises(QnnError, match=r"cannot write .*nowhere"):
        draw_grid(tmp_path / "nowhere" / "x.png", np.zeros((1, 8, 8)), labels, labels)
