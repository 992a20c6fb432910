from __future__ import annotations

import numpy as np

from qnn_ops.tensor_info import TensorInfo
from tvm_qnn.evaluate.worker import differing

SCORES = TensorInfo("y", (1, 3), "int8")
FOUND = [
    TensorInfo("boxes", (1, 2, 4), "float32", role="boxes"),
    TensorInfo("count", (1,), "float32", role="count"),
]


def array(*values: float, dtype: str = "int8") -> np.ndarray:
    return np.array([values], dtype)


def test_equal_outputs() -> None:
    found = differing([SCORES], [array(1, 2, 3)], [array(1, 2, 3)])
    assert found == {"elements": 3, "differing": 0, "first": None}
    reals = array(np.nan, 2, 3, dtype="float32")
    assert differing([SCORES], [reals], [reals.copy()]) == found


def test_the_first_difference_is_told() -> None:
    found = differing([SCORES], [array(1, 2, 3)], [array(1, 5, 4)])
    assert found == {
        "elements": 3,
        "differing": 2,
        "first": {"output": "y", "index": [0, 1], "ours": 2, "theirs": 5},
    }


def test_an_output_without_axes_is_one_element() -> None:
    found = differing([TensorInfo("y", (), "int8")], [np.array(1)], [np.array(2)])
    assert found is not None
    assert found["first"] == {"output": "y", "index": [], "ours": 1, "theirs": 2}


def test_outputs_of_another_kind_are_not_compared() -> None:
    assert differing([SCORES], [array(1)], [array(1, dtype="float32")]) is None
    assert differing([SCORES], [array(1)], [array(1, 2)]) is None
    assert differing([SCORES], [array(1)], []) is None


def test_behind_what_was_found_memory_holds_anything() -> None:
    boxes = np.zeros((1, 2, 4), np.float32)
    other = boxes.copy()
    other[0, 1] = 7
    for count, expected in ((1, 0), (2, 4)):
        number = np.array([count], np.float32)
        found = differing(FOUND, [boxes, number], [other, number])
        assert found is not None
        assert found["differing"] == expected
