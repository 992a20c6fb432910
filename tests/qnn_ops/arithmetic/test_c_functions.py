import ctypes
import math
import sys
from typing import Any

import numpy as np
import pytest

from qnn_ops.arithmetic.c_functions import by_c

X = np.array([0.25, 1.0, 3.5], np.float32)


def test_the_c_library_is_asked_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    load = ctypes.CDLL

    def library(name: str | None) -> Any:
        asked.append(name)
        return load(None)

    monkeypatch.setattr(ctypes, "CDLL", library)
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        np.testing.assert_allclose(by_c("expm1f", np.expm1, X), np.expm1(X), rtol=3e-7)
    assert asked == [None, None, "ucrtbase"]


def test_without_it_functions_are_computed_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str | None) -> Any:
        raise OSError(f"there is no {name}")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    found = by_c("erfcf", np.vectorize(math.erfc), X)
    np.testing.assert_array_equal(found, np.array([*map(math.erfc, X)], np.float32))
    assert found.dtype == np.float32
