"""Activation functions: fused into other operators, and RELU and its kin by themselves."""

import numpy as np
import pytest

from tests.support.tflite import fixed, given, one

CODES = ("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1")


REALS = [-2.5, -0.5, -0.0, 0.0, 0.5, 6.5, np.nan, np.inf, -np.inf] * 3


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("code", [*CODES, "SIGN"])
def test_nan_and_zeros_keep_litert_s_signs(code: str, is_known: bool) -> None:
    numbers = (fixed if is_known else given)(REALS, "float32")
    for kernels in (False, True):
        ((found, expected),) = one(code, numbers, gives="float32").outputs("host", kernels=kernels)
        assert np.isnan(expected[6])
        np.testing.assert_array_equal(found, expected)
        ours, theirs = (np.signbit(each[~np.isnan(expected)]) for each in (found, expected))
        np.testing.assert_array_equal(ours, theirs)
