import numpy as np
import pytest

from qnn_ops import QnnError, quantized_mean
from tests.differential.elementwise import mean
from tests.support.encodings import encodings
from tests.support.errors import failing
from tests.support.operators import module_of
from tests.support.steps import referred

PLAIN = encodings(axis=[1], keepdims=False, input=(0.5, 0), output=(0.5, 0), out_dtype="int8")

test_equals_litert = referred(mean, dtypes=("int8", "int16"))


def test_axis_may_be_a_number_and_repeat() -> None:
    data = np.arange(12, dtype=np.int8).reshape(3, 4)
    once = quantized_mean.evaluate(data, **PLAIN)
    for axis in (1, -1, [1, -1]):
        again = quantized_mean.evaluate(data, **{**PLAIN, "axis": axis})
        np.testing.assert_array_equal(again, once)


def test_far_too_small_an_output_scale_saturates() -> None:
    data = np.zeros((3, 1000), np.int8)
    data[:, 0] = 1, 0, -1
    for values in (data, data * 127):
        for scale in (1e-4, 1e-38):
            result = quantized_mean.evaluate(values, **{**PLAIN, "output_scale": scale})
            expected = [5, 0, -5] if scale > 1e-5 and values is data else [127, 0, -128]
            np.testing.assert_array_equal(result, expected)


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(quantized_mean, [np.zeros((2, 3, 0), np.int8)], **{**PLAIN, **change}),
    ({"axis": [3]}, "axis 3 is outside a tensor of 3 dimensions"),
    ({"axis": [-4]}, "axis -4 is outside"),
    ({"axis": np.int64(3)}, "axis 3 is outside"),
    ({"input_scale": -1.0}, "input_scale must be positive and finite"),
    ({"output_zero_point": 128}, "output_zero_point must lie within int8"),
    ({"out_dtype": "int32"}, "out_dtype must be int8 or uint8 or int16, got int32"),
    ({"axis": [2]}, "a mean is of 1 to 8388608 values, got 0 from"),
    match="quantized_mean: {}",
)


def test_data_that_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match="must be int8 or uint8 or int16, got float32"):
        module_of(quantized_mean, [np.zeros((2, 3), np.float32)], **PLAIN)
