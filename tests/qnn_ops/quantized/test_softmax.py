from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, quantized_softmax
from tests.differential.elementwise import softmax
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.errors import failing
from tests.support.litert import litert
from tests.support.operators import module_of
from tests.support.steps import referred

PLAIN = encodings(input=(0.1, 3), output=(1 / 256, -128), out_dtype="int8")


def test_int16_results_have_more_bits() -> None:
    data = np.array([[5, 5, 5, 5], [127, -128, -128, -128]], np.int8)
    changes = {"output_scale": 2.0**-16, "output_zero_point": -(2**15), "out_dtype": "int16"}
    result = quantized_softmax.evaluate(data, **{**PLAIN, **changes})
    expected = [[-(2**14)] * 4, [2**15 - 1, -(2**15), -(2**15), -(2**15)]]
    np.testing.assert_array_equal(result, np.array(expected, np.int16))


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -128), ("uint8", 0)])
def test_equals_litert_on_every_difference(dtype: str, zero_point: int) -> None:
    top = np.iinfo(dtype).max
    data = np.stack([np.full(256, top), top - np.arange(256)], axis=1).astype(dtype)
    rng = np.random.default_rng(0)
    exponents = rng.uniform(-12, 5, 60)
    exponents[::3] = np.round(exponents[::3])
    for scale in np.exp2(exponents).astype(np.float32).tolist():
        _check_against_litert(data, scale, zero_point, beta=1.0)


test_equals_litert = referred(softmax)


def _check_against_litert(data: Any, scale: float, zero_point: int, beta: float) -> None:
    dtype = str(data.dtype)
    expected = litert(
        "SOFTMAX",
        [(data, Quantization.per_tensor(scale, 0))],
        (data.shape, dtype, Quantization.per_tensor(1 / 256, zero_point)),
        beta=beta,
    )
    result = quantized_softmax.evaluate(data, scale, 0, 1 / 256, zero_point, dtype, beta)
    np.testing.assert_array_equal(result, expected)


def test_along_another_axis() -> None:
    data = full_range(np.random.default_rng(0), "int8", (3, 4, 5))
    result = quantized_softmax.evaluate(data, **PLAIN, axis=1)
    last = quantized_softmax.evaluate(np.ascontiguousarray(data.swapaxes(1, 2)), **PLAIN)
    np.testing.assert_array_equal(result, last.swapaxes(1, 2))


@pytest.mark.parametrize("count", [511, 512, 4096, 10000])
def test_many_equal_logits_round_to_zero(count: int) -> None:
    # LiteRT aborts from 512 on; 1/511 is 0.501 steps, 1/512 and less round to 0.
    result = quantized_softmax.evaluate(np.full((1, count), 7, np.int8), **PLAIN)
    assert (result == (-127 if count == 511 else -128)).all()


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(quantized_softmax, [np.zeros((2, 0), np.int8)], **{**PLAIN, **change}),
    ({"output_scale": 1 / 128}, "must have scale 1/256 and zero point -128, got 0.0078125"),
    ({"output_zero_point": 0}, "must have scale 1/256 and zero point -128"),
    ({"out_dtype": "uint8", "output_zero_point": 1}, "scale 1/256 and zero point 0, got"),
    ({"out_dtype": "int16"}, "scale 1/65536 and zero point -32768, got"),
    ({"input_scale": 0.0}, "input_scale must be positive and finite"),
    ({"beta": 1e39}, "beta must be positive and finite, got inf"),
    ({"beta": 0.0}, "beta must be positive and finite, got 0.0"),
    ({"beta": float("nan")}, "beta must be positive and finite, got nan"),
    ({"axis": 2}, "axis 2 is outside a tensor of 2 dimensions"),
    ({"axis": 1}, r"there must be values along axis 1, got shape \(2, 0\)"),
)


def test_data_that_does_not_fit_is_named() -> None:
    with pytest.raises(QnnError, match="quantized_data must be int8 or uint8 or int16, got int32"):
        module_of(quantized_softmax, [np.zeros((2, 3), np.int32)], **PLAIN)
    with pytest.raises(QnnError, match="axis -1 is outside a tensor of 0 dimensions"):
        module_of(quantized_softmax, [np.zeros((), np.int8)], **PLAIN)
