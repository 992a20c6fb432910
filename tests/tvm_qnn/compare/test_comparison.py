"""Differences, counted over several runs."""

import math
from typing import Any

import numpy as np
import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.compare.comparison import Tally

INT8 = TensorInfo("y", (4,), "int8", 0.5, 3)
FLOAT = TensorInfo("z", (4,), "float32")
BARE = TensorInfo("n", (4,), "int32")


def int8(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int8)


def test_runs_are_counted_together() -> None:
    tally = Tally(7, "ADD", INT8)
    tally.add(int8(1, 2, 3, 4), int8(1, 2, 3, 4), 0)
    tally.add(int8(1, 2, 3, 4), int8(1, 4, 3, 3), 1)
    tally.add(int8(0, 0, 0, 0), int8(0, 0, 0, -1), 2)
    found = tally.result()
    assert (found.index, found.name, found.operator) == (7, "y", "ADD")
    assert (found.elements, found.differing, found.worst, found.run) == (12, 3, 2.0, 1)
    assert found.steps == {-2: 1, 1: 2}


def test_noise_is_that_of_real_values() -> None:
    tally = Tally(0, "", INT8)
    ours, theirs = int8(5, 3, 3, 13), int8(3, 3, 3, 13)
    tally.add(ours, theirs, 0)
    found = tally.result()
    # 1, 0, 0, 5 and 0, 0, 0, 5.
    assert found.sqnr == pytest.approx(10 * math.log10(25 / 1))
    assert found.cosine == pytest.approx(25 / (5 * math.sqrt(26)))
    for info, array in ((INT8, int8(3, 3, 3, 3)), (FLOAT, np.zeros(4, np.float32))):
        tally = Tally(0, "", info)
        tally.add(array, array, 0)
        found = tally.result()
        assert (found.differing, found.sqnr, found.cosine, found.run) == (0, math.inf, 1.0, None)
    tally = Tally(0, "", INT8, FLOAT)
    tally.add(int8(3, 5, 7, 9), np.array([0, 1, 2, 3.25], np.float32), 0)
    found = tally.result()
    assert (found.differing, found.worst, found.steps) == (1, 0.25, {})
    assert found.sqnr == pytest.approx(10 * math.log10((1 + 4 + 3.25**2) / 0.25**2))
    tally = Tally(0, "", BARE)
    tally.add(np.arange(4, dtype=np.int32), np.ones(4, np.int32), 0)
    found = tally.result()
    assert (found.differing, found.sqnr, found.cosine) == (3, None, None)


def test_integers_of_another_scale_are_compared_as_real_values() -> None:
    tally = Tally(0, "", INT8, TensorInfo("y", (4,), "uint8", 0.25, 0))
    tally.add(int8(3, 5, 7, 9), np.array([0, 4, 8, 12], np.uint8), 0)
    assert tally.result().differing == 0
    tally = Tally(0, "", INT8, TensorInfo("y", (4,), "int8"))
    tally.add(int8(3, 5, 7, 9), int8(3, 5, 7, 10), 0)
    assert tally.result().steps == {-1: 1}


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_noise_of_what_is_no_number_is_not_told(wrong: float) -> None:
    tally = Tally(0, "", FLOAT)
    tally.add(np.zeros(4, np.float32), np.array([0, 0, 0, wrong], np.float32), 0)
    found = tally.result()
    assert (found.differing, found.worst, found.sqnr, found.cosine) == (1, math.inf, None, None)


def test_what_cannot_be_compared_differs_wholly() -> None:
    tally = Tally(0, "", INT8, FLOAT)
    tally.add(int8(3, 3), np.zeros((1, 2), np.float32), 4)
    found = tally.result()
    assert (found.differing, found.worst, found.run, found.sqnr) == (2, math.inf, 4, None)
    assert found.mismatch == "shape (2,) here, (1, 2) there"
    tally = Tally(0, "", INT8)
    tally.add(int8(3, 3), int8(), 0)
    found = tally.result()
    assert (found.differing, found.is_equal) == (0, False)
    assert found.mismatch == "shape (2,) here, (0,) there"
    tally = Tally(0, "", BARE, FLOAT)
    tally.add(np.zeros(4, np.int32), np.zeros(4, np.float32), 0)
    assert tally.result().differing == 4
    assert tally.result().mismatch == "dtype int32 here, float32 there"
