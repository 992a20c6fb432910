"""Operators on float32 tensors, which are between DEQUANTIZE and QUANTIZE in some models."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from tests.support.tflite import Operand, Sheet, fixed, given, library_of, one, refused, x
from tvm_qnn import build

pytestmark = pytest.mark.filterwarnings("error", "ignore:no tensor of this model is quantized")


def ulps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Count the float32 numbers from one result to the other; NaN is 0 from NaN."""
    places = []
    for array in (first, second):
        bits = np.ascontiguousarray(array, np.float32).view(np.int32).astype(np.int64)
        places.append(np.where(bits < 0, -(bits & 0x7FFFFFFF), bits))
    both_nan = np.isnan(first) & np.isnan(second)
    return np.where(both_nan, 0, np.abs(places[0] - places[1]))


def check_close(sheet: Sheet, most: int = 1) -> None:
    for index, (result, expected) in enumerate(sheet.outputs()):
        # The same operations in the same order, and functions of the C library. Those that are
        # computed otherwise here are accurate to a digit or two, LiteRT's likewise.
        assert ulps(result, expected).max(initial=0) <= most, index


def _positive(sheet: Sheet) -> Operand:
    return given(sheet.rng.uniform(0.1, 8, (2, 3, 4)), "float32")


def _any(sheet: Sheet, *shape: int) -> Operand:
    return given(sheet.rng.normal(0, 4, shape or (2, 3, 4)), "float32")


@pytest.mark.parametrize("code", ["ADD", "ADD_N"])
def test_what_is_added_and_taken_away_again_was_rounded_between(code: str) -> None:
    sheet = Sheet(seed=32)
    large = fixed(np.full((2, 3, 4), 1e5), "float32")
    sheet.add("SUB", sheet.made(code, _any(sheet), large), large)
    mod, params = from_tflite(sheet.model(), outputs=["y4"])
    expected = (sheet.arrays[0] + np.float32(1e5)) - np.float32(1e5)
    assert (expected != sheet.arrays[0]).all()
    np.testing.assert_array_equal(build(mod, "llvm", params).run(*sheet.arrays), expected)


@pytest.mark.parametrize("target", ["llvm", "host"])
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
def test_infinite_results_become_numbers_and_a_nan_stays_one(target: str, activation: str) -> None:
    """As of a quotient by what was rounded to 0."""
    rows = np.array([0, -0.0, 1, -2, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
    sheet = Sheet()
    operands = [given(each, "float32") for each in (rows[:, None], rows)]
    for code in ("ADD", "SUB", "MUL", "DIV"):
        sheet.add(code, *operands, fused_activation_function=activation)
    for result, wanted in sheet.outputs(target):
        assert not np.isinf(wanted).any()
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("zero", [0, [0, 0, -0.0, 2, 0, -0.0]])
def test_a_quotient_by_the_constant_0_equals_litert(zero: Any) -> None:
    data = given([1, -2, 3, 0, np.nan, np.inf], "float32")
    check_close(one("DIV", data, fixed(zero, "float32")), most=0)


def test_functions_of_one_operand() -> None:
    sheet = Sheet(seed=31)
    for code in (
        *("ABS", "COS", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "SIGN", "RELU6"),
        *("RELU_N1_TO_1", "RELU_0_TO_1", "SIN", "SQUARE", "L2_NORMALIZATION", "LOG_SOFTMAX"),
        "ZEROS_LIKE",
    ):
        sheet.add(code, _any(sheet))
    for code in ("LOG", "RSQRT", "SQRT"):
        sheet.add(code, _positive(sheet))
    sheet.add("LEAKY_RELU", _any(sheet), alpha=0.3)
    sheet.add("SOFTMAX", _any(sheet), beta=0.5)
    sheet.add("PRELU", _any(sheet, 1, 2, 3, 4), fixed([0.1, -0.5, 2, 0], "float32"))
    check_close(sheet)


def test_functions_of_other_libraries() -> None:
    sheet = Sheet(seed=38)
    numbers = sheet.rng.normal(0, 4, (1, 2, 3, 50))
    numbers[0, 0, 0, :3] = 1e-30, -1e-17, 1e-10
    data = given(numbers, "float32")
    sheet.add("TANH", data)
    options = {"radius": 3, "bias": 1.0, "alpha": 0.5, "beta": 0.75}
    sheet.add("LOCAL_RESPONSE_NORMALIZATION", data, **options)
    check_close(sheet, most=3)


def test_gelu_is_as_near_as_its_terms() -> None:
    sheet, data = Sheet(seed=39), x(1, 300, dtype="float32")
    for approximate in (False, True):
        sheet.add("GELU", data, approximate=approximate)
    for actual, expected in sheet.outputs():
        # 1 + tanh(x), which vanishes for negative x, has the digits of 1.
        assert (np.abs(actual - expected) <= 2.0**-22 * np.abs(sheet.arrays[0])).all()


def test_functions_without_a_reference_kernel() -> None:
    sheet = Sheet(seed=32)
    numbers = sheet.rng.normal(0, 4, (2, 3, 4)).astype(np.float32)
    numbers[0, 0] = -1e-30, -1e-10, -np.inf, np.nan
    data = given(numbers, "float32")
    for code in ("ELU", "CEIL", "ROUND"):
        sheet.add(code, data)
    elu, ceiling, rounded = library_of(sheet.model()).run(numbers).values()
    expected = np.where(numbers > 0, numbers, np.expm1(np.minimum(numbers, 0).astype(np.float64)))
    np.testing.assert_array_equal(elu, expected.astype(np.float32))
    np.testing.assert_array_equal(rounded, np.rint(numbers))
    np.testing.assert_array_equal(ceiling, np.ceil(numbers))


def test_functions_of_two_operands() -> None:
    sheet = Sheet(seed=33)
    constant = fixed([1.5, 0.5, 2, 3], "float32")
    for code in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "POW", "SQUARED_DIFFERENCE"):
        sheet.add(code, _positive(sheet), constant)
    for code in ("FLOOR_DIV", "FLOOR_MOD", "ATAN2"):
        sheet.add(code, _any(sheet), _any(sheet))
    sheet.add("ADD_N", _any(sheet), _any(sheet), _any(sheet))
    sheet.add("ADD", _any(sheet), _any(sheet), fused_activation_function="RELU6")
    check_close(sheet)


def test_functions_along_axes() -> None:
    sheet = Sheet(seed=34)
    for code in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        sheet.add(code, _any(sheet), [0, -1], keep_dims=False)
    sheet.add("CONCATENATION", _any(sheet), _any(sheet))
    sheet.add("PAD", _any(sheet), [[0, 1], [2, 0], [1, 1]])
    check_close(sheet)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_poolings(padding: str) -> None:
    sheet = Sheet(seed=40)
    data = _any(sheet, 2, 9, 8, 5)
    window = {"filter_height": 3, "filter_width": 3, "stride_h": 2, "stride_w": 1}
    kind = {"padding": padding, "fused_activation_function": "RELU6"}
    for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        sheet.add(code, data, **window, **kind)
    check_close(sheet)


@pytest.mark.parametrize("places", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_images_of_another_size(places: dict[str, bool]) -> None:
    sheet = Sheet(seed=41)
    data = _any(sheet, 2, 9, 8, 5)
    for code in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        sheet.add(code, data, [13, 5], **places)
    check_close(sheet, most=0)


def test_weights_of_float16() -> None:
    sheet = Sheet(seed=42)
    half = fixed(sheet.rng.normal(size=(3, 1)), "float16")
    weights = sheet.made("DEQUANTIZE", half, gives="float32", version=2)
    sheet.add("FULLY_CONNECTED", _any(sheet, 5, 1), weights)
    check_close(sheet, most=0)


test_a_scalar_has_no_softmax = refused(
    ("'x1' is a scalar, which has no last axis", one("LOG_SOFTMAX", x(dtype="float32")))
)
