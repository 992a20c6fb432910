import ctypes
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from qnn_ops.arrays import Array
from qnn_ops.tables import lookup as tables
from qnn_ops.tables.lookup import Ends
from tests.support.arrays import every_value, full_range
from tests.support.errors import fails
from tests.support.litert import litert

DTYPES = pytest.mark.parametrize("dtype", ["int8", "uint8"])


def litert_table(code: str, parameters: Ends, **options: Any) -> Array:
    input_scale, input_zero_point, output_scale, output_zero_point, dtype = parameters
    return litert(
        code,
        [(every_value(dtype), Quantization.per_tensor(input_scale, input_zero_point))],
        ((256,), dtype, Quantization.per_tensor(output_scale, output_zero_point)),
        **options,
    )


def random_scale(rng: np.random.Generator, low: float, high: float) -> float:
    exponent = rng.uniform(low, high)
    # Powers of two make ties frequent.
    return float(np.float32(2.0 ** (np.round(exponent) if rng.integers(3) == 0 else exponent)))


def random_points(rng: np.random.Generator, dtype: str) -> tuple[int, int]:
    first, second = full_range(rng, dtype, (2,)).tolist()
    return first, second


def test_unary_table_by_hand() -> None:
    table = tables.unary_table(lambda x: x * x, Ends(0.5, 0, 0.5, -128, "int8"))
    # (0.5 * 3)^2 / 0.5 = 4.5, away from zero.
    np.testing.assert_array_equal(table[[125, 128, 131, 255]], [-123, -128, -123, 127])


def test_unary_table_of_a_function_with_poles() -> None:
    table = tables.unary_table(lambda x: 1 / x, Ends(1.0, 0, 0.5, 3, "int8"))
    np.testing.assert_array_equal(table[[127, 128, 129]], [1, 127, 5])
    nothing = tables.unary_table(lambda x: np.sqrt(-1 - x * x), Ends(1.0, 0, 0.5, 3, "int8"))
    assert set(nothing.tolist()) == {3}


@DTYPES
def test_logistic_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        zero_point, other = random_points(rng, dtype)
        lowest = -128 if dtype == "int8" else 0
        parameters = Ends(
            random_scale(rng, -10, 1),
            zero_point,
            1 / 256,
            other if rng.integers(2) else lowest,
            dtype,
        )
        expected = litert_table("LOGISTIC", parameters)
        np.testing.assert_array_equal(tables.logistic_table(parameters), expected)


@DTYPES
def test_tanh_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        input_point, output_point = random_points(rng, dtype)
        parameters = Ends(
            random_scale(rng, -10, 1),
            input_point,
            random_scale(rng, -9, -5),
            output_point,
            dtype,
        )
        expected = litert_table("TANH", parameters)
        np.testing.assert_array_equal(tables.tanh_table(parameters), expected)


@DTYPES
def test_tanh_without_a_c_library_is_at_most_one_away(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = Ends(0.03, 5, 1 / 128, 0, dtype)
    with_library = tables.tanh_table(parameters)

    def no_library(name: str | None) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    without = tables.tanh_table(parameters)
    # Older C libraries' tanhf is off by more than rounding, which may decide a tie.
    assert np.abs(without.astype(int) - with_library.astype(int)).max() <= 1


@DTYPES
def test_hard_swish_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for case in range(300):
        input_scale = random_scale(rng, *((-12, 4) if case % 20 else (-40, -12)))
        ratio = random_scale(rng, *((-4, 4) if case % 10 else (-25, 6.9)))
        input_point, output_point = random_points(rng, dtype)
        parameters = Ends(
            input_scale,
            input_point,
            float(np.float32(input_scale / ratio)),
            output_point,
            dtype,
        )
        expected = litert_table("HARD_SWISH", parameters)
        np.testing.assert_array_equal(tables.hard_swish_table(parameters), expected)


def test_hard_swish_refuses_what_litert_refuses() -> None:
    parameters = Ends(1.0, 0, 1 / 128, 0, "int8")
    fails("output_multiplier_exponent", litert_table, "HARD_SWISH", parameters)
    with pytest.raises(QnnError, match=r"input_scale < 128 \* output_scale, got 1.0 and 0.0078"):
        tables.hard_swish_table(parameters)
    step = np.nextafter(np.float32(1 / 128), np.float32(1))
    tables.hard_swish_table(Ends(1.0, 0, step, 0, "int8"))


@DTYPES
def test_leaky_relu_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        input_point, output_point = random_points(rng, dtype)
        parameters = Ends(
            random_scale(rng, -8, 4),
            input_point,
            random_scale(rng, -8, 4),
            output_point,
            dtype,
        )
        alpha = float(np.float32(rng.uniform(-1.5, 1.5)))
        if rng.integers(3) == 0:
            alpha = int(rng.integers(-8, 9)) / 8
        expected = litert_table("LEAKY_RELU", parameters, alpha=alpha)
        np.testing.assert_array_equal(tables.leaky_relu_table(alpha, parameters), expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (Ends(0.1, 0, 0.1, 0, "int16"), "a table's dtype must be int8 or uint8, got int16"),
        (Ends(0.0, 0, 0.1, 0, "int8"), "input_scale must be positive and finite, got 0.0"),
        (Ends(0.1, -1, 0.1, 0, "uint8"), "input_zero_point must lie within uint8, got -1"),
        (Ends(0.1, 0, 0.1, 200, "int8"), "output_zero_point must lie within int8, got 200"),
    ],
)
def test_what_does_not_fit_is_named(parameters: Ends, message: str) -> None:
    fails(message, tables.tanh_table, parameters)
    fails(message, tables.hard_swish_table, parameters)
    fails(message, tables.leaky_relu_table, 0.5, parameters)
