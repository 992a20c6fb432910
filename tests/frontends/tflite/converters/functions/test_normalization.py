"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION, and REDUCE_PROD of quantized tensors."""

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.differential.elementwise import softmax
from tests.support.arrays import full_range
from tests.support.steps import compiled
from tests.support.tflite import ANY, Sheet, one, random_quantization, refused, x

test_softmax_equals_litert = compiled(softmax)


def test_the_scale_of_a_uint8_result_is_not_read() -> None:
    sheet = Sheet(seed=14)
    for scale, point in ((1 / 255, 0), (0.3, 0), (1 / 256, 9)):
        data = sheet.random_input((3, 10), "uint8", random_quantization(sheet.rng, "uint8", 0.1))
        result = ((3, 10), "uint8", Quantization.per_tensor(scale, point))
        sheet.operator("SOFTMAX", [data], result, beta=1.0)
    sheet.check()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_int16_results_of_bytes_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=13)
    result = Quantization.per_tensor(1 / 65536, -(2**15))
    for index in range(8):
        shape = [(3, 10), (2, 3, 4), (1, 12)][index % 3]
        data = sheet.random_input(shape, dtype, random_quantization(sheet.rng, dtype, 0.1))
        sheet.operator("SOFTMAX", [data], (shape, "int16", result), beta=[1.0, 0.3][index % 2])
    sheet.check()


def data_of(sheet: Sheet, dtype: str, shape: tuple[int, ...], scale: float = 0.05) -> int:
    """Add rows of all values, of the ends alone, and of one value, with any zero point."""
    quantization = random_quantization(sheet.rng, dtype, scale)
    if dtype == "int16":
        quantization = Quantization.per_tensor(scale / 256, 0)
    point, info = int(quantization.zero_point[0]), np.iinfo(dtype)
    array = full_range(sheet.rng, dtype, shape)
    array[1] = np.where(array[1] > point, info.max, info.min)
    array[2] = point
    array[3, ..., 1:] = point
    # Neighbours, of which sums are small and ties are many.
    array[4] = np.clip(sheet.rng.integers(-3, 4, shape[1:]) + point, info.min, info.max)
    return sheet.input(array, quantization)


@pytest.mark.parametrize(
    ("dtype", "scale", "point"),
    [("int8", 1 / 256, -128), ("uint8", 1 / 256, 0), ("int16", 2.0**-15, 0)],
)
def test_softmax_of_long_rows_equals_litert(dtype: str, scale: float, point: int) -> None:
    sheet, shape = Sheet(seed=12), (6, 480)
    result = (shape, dtype, Quantization.per_tensor(scale, point))
    data = data_of(sheet, dtype, shape, scale=0.3)
    sheet.operator("SOFTMAX", [data], result, beta=0.3)
    sheet.check_reference()
    sheet.check()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_lengths_of_one_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=60)
    result = Quantization.per_tensor(1 / 128, 128 if dtype == "uint8" else 0)
    for shape in ((80, 7), (6, 2, 400)):
        data = data_of(sheet, dtype, shape)
        sheet.operator("L2_NORMALIZATION", [data], (shape, dtype, result))
    sheet.check()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_logarithms_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=61)
    result = Quantization.per_tensor(16 / 256, 255 if dtype == "uint8" else 127)
    for shape, scale in (((80, 10), 0.1), ((6, 2, 900), 0.02)):
        data = data_of(sheet, dtype, shape, scale)
        sheet.operator("LOG_SOFTMAX", [data], (shape, dtype, result))
    sheet.check()


def test_rows_without_elements_equal_litert_s() -> None:
    sheet, data = Sheet(), x(0, 3)
    for code, encoding in (("LOG_SOFTMAX", (16 / 256, 127)), ("L2_NORMALIZATION", (1 / 128, 0))):
        sheet.add(code, data, gives=(ANY, "int8", Quantization.per_tensor(*encoding)))
    for dtype, scale, point in (("int8", 1 / 256, -128), ("int16", 2.0**-15, 0)):
        for shape in ((2, 0), (0,)):
            data = x(*shape, dtype=dtype, encoding=Quantization.per_tensor(0.125, 0))
            result = (shape, dtype, Quantization.per_tensor(scale, point))
            sheet.add("SOFTMAX", data, gives=result, beta=1.0)
    sheet.check()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_products_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=62)
    for axes, keep, shape, scale, step in (
        ([1], False, (60, 3), 0.05, 0.02),
        ([2, -2], True, (60, 1, 1), 0.01, 1e-6),
        ([], False, (60, 2, 3), 0.05, 0.02),
    ):
        data = data_of(sheet, dtype, (60, 2, 3), scale)
        encoding = random_quantization(sheet.rng, dtype, step)
        if dtype == "int16":
            encoding = Quantization.per_tensor(step, 0)
        operands = [data, sheet.constant(np.array(axes, np.int32))]
        sheet.operator("REDUCE_PROD", operands, (shape, dtype, encoding), keep_dims=keep)
    sheet.check()


@pytest.mark.filterwarnings("error")
def test_a_product_of_many_values_equals_litert_s() -> None:
    sheet = Sheet(seed=63)
    data = data_of(sheet, "int8", (60, 40), 0.05)
    encoding = random_quantization(sheet.rng, "int8", 1e-3)
    sheet.operator("REDUCE_PROD", [data, sheet.constant([1])], ((60,), "int8", encoding))
    sheet.check()


test_what_is_refused = refused(
    ("must have scale and zero point", one("L2_NORMALIZATION", x(2, 3))),
    ("must have scale and zero point", one("LOG_SOFTMAX", x(2, 3))),
    (
        "are too far apart",
        one(
            "REDUCE_PROD",
            x(2, 3, encoding=Quantization.per_tensor(1000.0, 0)),
            [1],
            gives=(ANY, "int8", Quantization.per_tensor(1e-9, 0)),
        ),
    ),
)
