"""MAXIMUM, MINIMUM, REDUCE_MAX and REDUCE_MIN of quantized tensors: integers as they are."""

import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import ANY, Sheet, one, refused, x

OTHER = Quantization.per_tensor(0.25, -9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_extremes_equal_litert(dtype: str) -> None:
    sheet, data, other = Sheet(seed=30), x(2, 3, 4, dtype=dtype), x(3, 1, dtype=dtype)
    for code in ("MAXIMUM", "MINIMUM"):
        sheet.add(code, data, other)
    for code in ("REDUCE_MAX", "REDUCE_MIN"):
        sheet.add(code, data, [0, -1], keep_dims=True)
    sheet.check()


test_integers_that_mean_different_numbers = refused(
    ("the same scale and zero point", one("REDUCE_MAX", x(2, 3), [1], gives=(ANY, "int8", OTHER)))
)


@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_the_larger_of_integers_whatever_they_mean(code: str) -> None:
    result = (ANY, "int8", Quantization.per_tensor(0.125, 5))
    one(code, x(2, 3), x(2, 3, encoding=OTHER), gives=result).check()
