from __future__ import annotations

import warnings

import numpy as np
import pytest

from frontends.tflite import QuantizedFallbackWarning, from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, dequantize, quantize
from tests.support.tflite import Sheet
from tvm_qnn import build

Q = Quantization.per_tensor(0.5, 3)
RESULT = Quantization.per_tensor(0.25, -7)


def _abs_and_divide() -> Sheet:
    sheet = Sheet(seed=35)
    data = sheet.random_input((2, 5), "int8", Q)
    absolute = sheet.operator("ABS", [data], ((2, 5), "int8", RESULT))
    divisor = sheet.constant(np.array([1, 2, 4, 5, 6], np.int8), Q)
    sheet.operator("DIV", [absolute, divisor], ((2, 5), "int8", RESULT))
    return sheet


def test_it_is_dequantize_float_quantize() -> None:
    sheet = _abs_and_divide()
    with pytest.warns(QuantizedFallbackWarning) as caught:
        mod, params = from_tflite(sheet.model(), outputs="all")
    (data,), (divisor,) = sheet.arrays, [value.numpy() for value in params.values()]
    absolute = quantize.evaluate(np.abs(dequantize.evaluate(data, 0.5, 3)), 0.25, -7, "int8")
    quotient = dequantize.evaluate(absolute, 0.25, -7) / dequantize.evaluate(divisor, 0.5, 3)
    results = list(build(mod, "llvm", params).run(data).values())
    np.testing.assert_array_equal(results[0], absolute)
    np.testing.assert_array_equal(results[1], quantize.evaluate(quotient, 0.25, -7, "int8"))
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert messages[0].startswith("operator 0 ABS ('x1', 'y2'): there is no integer rule")
    assert messages[1].startswith("operator 1 DIV ('y2', 'c3', 'y4'): there is no integer rule")


def test_the_warning_points_at_the_caller() -> None:
    model = _abs_and_divide().model()
    with pytest.warns(QuantizedFallbackWarning) as caught:
        from_tflite(model)
    assert {warning.filename for warning in caught} == {__file__}


def test_it_comes_close_to_litert() -> None:
    sheet = Sheet(seed=36)
    data = sheet.input(np.arange(256).astype(np.int8).reshape(1, 256), Q)
    sheet.operator("ABS", [data], ((1, 256), "int8", RESULT))
    with pytest.warns(QuantizedFallbackWarning):
        comparison = sheet.compare()
    # LiteRT rounds its own way; a step apart is what the warning says.
    assert comparison.tensors[0].worst <= 1


def test_a_weight_per_channel_is_dequantized_per_channel() -> None:
    sheet = Sheet(seed=37)
    data = sheet.random_input((2, 3), "int8", Q)
    scales = Quantization(np.array([0.5, 0.25, 2], np.float32), np.zeros(3, np.int64), 0)
    divisor = sheet.constant(np.array([1, 2, 3], np.int8), scales)
    sheet.operator("DIV", [data, divisor], ((2, 3), "int8", RESULT))
    with pytest.warns(QuantizedFallbackWarning):
        mod, params = from_tflite(sheet.model())
    quotient = dequantize.evaluate(sheet.arrays[0], 0.5, 3) / np.array([0.5, 0.5, 6], np.float32)
    expected = quantize.evaluate(quotient.astype(np.float32), 0.25, -7, "int8")
    np.testing.assert_array_equal(build(mod, "llvm", params).run(sheet.arrays[0]), expected)


def test_no_warning_before_an_error() -> None:
    sheet = _abs_and_divide()
    data = sheet.random_input((2, 5), "int8", Q)
    sheet.operator("SVDF", [data], ((2, 5), "int8", Q))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(QnnError, match="operator 2 SVDF"):
            from_tflite(sheet.model())
