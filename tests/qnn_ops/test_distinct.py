from functools import partial
from typing import NoReturn

import numpy as np
import pytest

from qnn_ops.distinct import Distinct

ARRAY = np.arange(100, dtype=np.int32)


def test_equal_arrays_have_one_value() -> None:
    others = [ARRAY.astype(np.uint32), ARRAY.reshape(2, 50), ARRAY[:99], ARRAY + (ARRAY == 99)]
    arrays = [ARRAY, *others, np.float32(0.0) * ARRAY, np.array(5), np.zeros(0, np.int8)]
    values: Distinct[int] = Distinct()
    for _ in range(2):
        found = [values.value(array.copy(), partial(int, n)) for n, array in enumerate(arrays)]
        assert found == list(range(len(arrays)))


def test_arrays_that_begin_differently_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(*_arrays: object) -> NoReturn:
        pytest.fail("arrays were compared")

    monkeypatch.setattr("numpy.array_equal", compare)
    values: Distinct[int] = Distinct()
    assert [values.value(ARRAY + n, partial(int, n)) for n in range(3)] == [0, 1, 2]
