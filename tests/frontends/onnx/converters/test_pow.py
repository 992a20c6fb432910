from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import check_equal, model_of


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_exponents_of_any_dtype(dtype: str, is_known: bool) -> None:
    data = {"x": np.array([0.5, 2, 3, 1.25], np.float32)}
    exponent = {"n": np.array([2, 3, 2, 1], dtype)}
    given, constants = (data, exponent) if is_known else (data | exponent, {})
    check_equal(model_of([("Pow", "x n", "y", {})], given, ["y"], constants), given)


def test_bases_that_are_integers_are_refused() -> None:
    data = {"x": np.array([2, 3]), "n": np.array([2, 3])}
    model = model_of([("Pow", "x n", "y", {})], data, ["y:int64"], {})
    with pytest.raises(UnsupportedOperatorError, match="base must be a real number, got int64"):
        from_onnx(model)
