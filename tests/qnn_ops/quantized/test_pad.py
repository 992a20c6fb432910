from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, quantized_pad
from tests.support.arrays import full_range
from tests.support.errors import failing
from tests.support.litert import litert
from tests.support.operators import module_of


def test_a_scalar_has_no_axis_to_pad() -> None:
    result = quantized_pad.evaluate(np.array(5, np.int8), [], 0)
    np.testing.assert_array_equal(result, np.array(5, np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("code", ["PAD", "PADV2"])
def test_equals_litert(code: str, dtype: str) -> None:
    rng = np.random.default_rng(4)
    for rank in (1, 2, 3, 4) * 10:
        data = full_range(rng, dtype, tuple(rng.integers(1, 5, rank).tolist()))
        widths = rng.integers(0, 4, (rank, 2), dtype=np.int32)
        zero_point, value = full_range(rng, dtype, (2,)).tolist()
        quantization = Quantization.per_tensor(0.1, zero_point)
        constants: list[Any] = [(widths, None)]
        if code == "PADV2":
            constants.append((np.array(value, dtype), quantization))
        actual = quantized_pad.evaluate(
            data, widths.ravel().tolist(), value if code == "PADV2" else zero_point
        )
        expected = litert(
            code, [(data, quantization)], (actual.shape, dtype, quantization), constants
        )
        np.testing.assert_array_equal(actual, expected)


test_what_does_not_fit_is_named = failing(
    lambda pad_width, pad_value: module_of(
        quantized_pad, [np.zeros((2, 3), np.int8)], pad_width=pad_width, pad_value=pad_value
    ),
    ([1, 1], 0, "pad_width must have 2 values for each of 2 axes, got 2"),
    ([0, 0, -1, 0], 0, r"pad_width must not be negative, got \[0, 0, -1, 0\]"),
    ([0, 0, 1, 0], 128, "pad_value must lie within int8, got 128"),
    match="quantized_pad: {}",
)


def test_data_of_another_dtype_is_named() -> None:
    with pytest.raises(QnnError, match="must be int8 or uint8 or int16, got float32"):
        module_of(quantized_pad, [np.zeros(3, np.float32)], pad_width=[0, 0], pad_value=0)
