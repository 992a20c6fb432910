import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, quantized_mean
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.errors import failing
from tests.support.litert import litert
from tests.support.operators import module_of

PLAIN = encodings(axis=[1], keepdims=False, input=(0.5, 0), output=(0.5, 0), out_dtype="int8")

AXES = [[1, 2], [2, 1], [0], [3], [-1], [0, 1, 2, 3], [2], [1, 2, 3], [-2, -3], [1, 1], [0, 3], []]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for index in range(150):
        shape = tuple(rng.integers(1, 14, 4).tolist())
        data = full_range(rng, dtype, shape)
        if index % 3 == 0:
            data = (data // 16 + 100).astype(dtype)  # a mean far from the zero point
        exponents = rng.uniform(-8, 2) + np.array([0, rng.uniform(-3, 4)])
        scales = np.exp2(np.round(exponents) if index % 2 else exponents).astype(np.float32)
        points = full_range(rng, dtype, (2,)).tolist()
        axis, keepdims = AXES[index % len(AXES)], bool(rng.integers(2))
        result = quantized_mean.evaluate(
            data, axis, keepdims, float(scales[0]), points[0], float(scales[1]), points[1], dtype
        )
        expected = litert(
            "MEAN",
            [(data, Quantization.per_tensor(float(scales[0]), points[0]))],
            (result.shape, dtype, Quantization.per_tensor(float(scales[1]), points[1])),
            [(np.array(axis, np.int32), None)],
            keep_dims=keepdims,
        )
        np.testing.assert_array_equal(result, expected)


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
