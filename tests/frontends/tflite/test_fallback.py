import numpy as np
import pytest

from frontends.tflite import QuantizedFallbackWarning, from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import dequantize, quantize
from tests.support.tflite import ANY, Q, Sheet, fixed, one, x
from tvm_qnn import build

RESULT = (ANY, "int8", Quantization.per_tensor(0.25, -7))


def _square_and_raise() -> Sheet:
    sheet = Sheet(seed=35)
    squared = sheet.made("SQUARE", x(2, 5), gives=RESULT)
    return sheet.add("POW", squared, fixed([1, 2, 4, 5, 6], "int8", Q), gives=RESULT)


def test_it_is_dequantize_float_quantize() -> None:
    sheet = _square_and_raise()
    with pytest.warns(QuantizedFallbackWarning) as caught:
        mod, params = from_tflite(sheet.model(), outputs="all")
    (data,), (exponent,) = sheet.arrays, [value.numpy() for value in params.values()]
    squared = quantize.evaluate(np.square(dequantize.evaluate(data, 0.5, 3)), 0.25, -7, "int8")
    power = dequantize.evaluate(squared, 0.25, -7) ** dequantize.evaluate(exponent, 0.5, 3)
    results = list(build(mod, "llvm", params).run(data).values())
    np.testing.assert_array_equal(results[0], squared)
    np.testing.assert_array_equal(results[1], quantize.evaluate(power, 0.25, -7, "int8"))
    messages = [str(warning.message) for warning in caught]
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert messages[0].startswith("operator 0 SQUARE ('x1', 'y2'): there is no integer rule")
    assert messages[1].startswith("operator 1 POW ('y2', 'c3', 'y4'): there is no integer rule")


def test_a_weight_per_channel_is_dequantized_per_channel() -> None:
    scales = Quantization(np.array([0.5, 0.25, 2], np.float32), np.zeros(3, np.int64), 0)
    sheet = one("POW", fixed([1, 2, 3], "int8", scales), x(2, 3), gives=RESULT)
    model = sheet.model()
    with pytest.warns(QuantizedFallbackWarning):
        mod, params = from_tflite(model)
    power = np.array([0.5, 0.5, 6], np.float32) ** dequantize.evaluate(sheet.arrays[0], 0.5, 3)
    expected = quantize.evaluate(power.astype(np.float32), 0.25, -7, "int8")
    np.testing.assert_array_equal(build(mod, "llvm", params).run(sheet.arrays[0]), expected)


@pytest.mark.filterwarnings("error")
def test_no_warning_before_an_error() -> None:
    _square_and_raise().add("SVDF", x(2, 5)).check_refused("operator 2 SVDF")
