import numpy as np
import pytest

from qnn_ops import QnnError, quantized_pad
from tests.differential.single import single
from tests.support.errors import failing
from tests.support.operators import module_of
from tests.support.steps import referred


def test_a_scalar_has_no_axis_to_pad() -> None:
    result = quantized_pad.evaluate(np.array(5, np.int8), [], 0)
    np.testing.assert_array_equal(result, np.array(5, np.int8))


test_equals_litert = referred(single("PAD", "PADV2"))


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
