import numpy as np
import pytest

from qnn_ops import QnnError, quantized_relu, requantize
from tests.support.arrays import every_value
from tests.support.encodings import encodings
from tests.support.errors import failing
from tests.support.litert import check_function, encoded, random_ends
from tests.support.operators import module_of

PLAIN = encodings(input=(0.5, 2), output=(0.25, -3), out_dtype="int8")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", ["relu", "relu6", "relu_n1_to_1"])
def test_equals_litert(kind: str, dtype: str) -> None:
    rng, data = np.random.default_rng(2), every_value(dtype)
    for _ in range(150):
        ends = random_ends(rng, dtype, dtype)
        actual = quantized_relu.evaluate(data, *ends, dtype, kind)
        check_function(actual, kind.upper(), data, *encoded(ends))


def test_its_multiplier_is_a_float32_quotient_unlike_that_of_requantize() -> None:
    data = every_value("uint8")
    differing = 0
    for numerator in range(1, 20):
        for denominator in range(1, 20):
            scales = (numerator / 2, 0, float(denominator), 0, "uint8")
            relu = quantized_relu.evaluate(data, *scales)
            differing += int(np.count_nonzero(relu != requantize.evaluate(data, *scales)))
    assert differing > 0


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(quantized_relu, [np.zeros((2, 3), np.int8)], **{**PLAIN, **change}),
    ({"kind": "elu"}, "kind must be one of relu, relu6, relu_0_to_1, relu_n1_to_1, got 'elu'"),
    ({"out_dtype": "int32"}, "out_dtype must be int8 or uint8 or int16, got int32"),
    ({"input_scale": [0.1, 0.2]}, "input_scale must be one value for the whole tensor"),
    ({"input_zero_point": 300}, "input_zero_point must lie within int8, got 300"),
    ({"input_scale": 1e10, "output_scale": 1e-5}, "the scales do not go together"),
    ({"output_scale": 0.0}, "output_scale must be positive and finite, got 0.0"),
    match="quantized_relu: {}",
)


def test_data_of_another_dtype_is_named() -> None:
    with pytest.raises(QnnError, match="quantized_data must be int8 or uint8 or int16, got int32"):
        module_of(quantized_relu, [np.zeros((2, 3), np.int32)], **PLAIN)
