import ctypes
from collections.abc import Callable
from functools import partial
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
from tests.support.litert import Quantized, litert, single_op
from tvm_qnn.oracle import LiteRtSession

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


def swish_scales(rng: np.random.Generator, case: int) -> tuple[float, float]:
    scale = random_scale(rng, *((-12, 4) if case % 20 else (-40, -12)))
    ratio = random_scale(rng, *((-4, 4) if case % 10 else (-25, 6.9)))
    return scale, float(np.float32(scale / ratio))


# The table, and scales of the data and the result.
Scales = Callable[[np.random.Generator, int], tuple[float, float]]
_DRAWN: dict[str, tuple[Callable[[Ends], Array], Scales]] = {
    "LOGISTIC": (tables.logistic_table, lambda rng, _: (random_scale(rng, -10, 1), 1 / 256)),
    "TANH": (
        tables.tanh_table,
        lambda rng, _: (random_scale(rng, -10, 1), random_scale(rng, -9, -5)),
    ),
    "HARD_SWISH": (tables.hard_swish_table, swish_scales),
}


@DTYPES
@pytest.mark.parametrize("code", _DRAWN)
def test_tables_of_any_scales_equal_litert(code: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    table_of, scales = _DRAWN[code]
    for case in range(300):
        zero_point, result_point = random_points(rng, dtype)
        if case % 2:
            result_point = int(np.iinfo(dtype).min)
        scale, result_scale = scales(rng, case)
        ends = Ends(scale, zero_point, result_scale, result_point, dtype)
        np.testing.assert_array_equal(table_of(ends), litert_table(code, ends))


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
            random_scale(rng, -8, 4), input_point, random_scale(rng, -8, 4), output_point, dtype
        )
        alpha = float(np.float32(rng.uniform(-1.5, 1.5)))
        if rng.integers(3) == 0:
            alpha = int(rng.integers(-8, 9)) / 8
        expected = litert_table("LEAKY_RELU", parameters, alpha=alpha)
        np.testing.assert_array_equal(tables.leaky_relu_table(alpha, parameters), expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (Ends(0.1, 0, 0.1, 0, "int32"), "table's dtype must be int8 or uint8 or int16, got int32"),
        (Ends(0.0, 0, 0.1, 0, "int8"), "input_scale must be positive and finite, got 0.0"),
        (Ends(0.1, -1, 0.1, 0, "uint8"), "input_zero_point must lie within uint8, got -1"),
        (Ends(0.1, 0, 0.1, 200, "int8"), "output_zero_point must lie within int8, got 200"),
    ],
)
def test_what_does_not_fit_is_named(parameters: Ends, message: str) -> None:
    fails(message, tables.tanh_table, parameters)
    fails(message, tables.hard_swish_table, parameters)
    fails(message, tables.leaky_relu_table, 0.5, parameters)


# A negative input ends a run of these functions with an error.
_TABLES: dict[str, tuple[Callable[..., Array], bool]] = {
    "ABS": (tables.absolute_table, False),
    "ELU": (tables.elu_table, False),
    "LOG": (tables.log_table, False),
    "RSQRT": (tables.rsqrt_table, True),
    "SQRT": (tables.sqrt_table, True),
}


def ask(code: str, operand: Quantized, result: Any, **options: Any) -> Array:
    """Run LiteRT's reference kernel; of ELU there is only the one that it runs by default."""
    if code != "ELU":
        return litert(code, [operand], result, **options)
    model = single_op(code, [operand], result, **options)
    (answer,) = LiteRtSession(model, xnnpack=False).run([operand[0]])
    return answer


def check(
    code: str, table_of: Callable[..., Array], dtype: str, *, rooted: bool = False, **options: Any
) -> None:
    rng = np.random.default_rng(3)
    every = every_value(dtype)
    for index in range(60):
        exponents = rng.uniform(-8, 3, 2)
        scales = 2.0 ** (np.round(exponents) if index % 3 == 0 else exponents)
        steps = [float(scale) for scale in scales.astype(np.float32)]
        points = [int(each) for each in full_range(rng, dtype, (2,))]
        data = np.maximum(every, points[0]).astype(dtype) if rooted else every
        encodings = [Quantization.per_tensor(*each) for each in zip(steps, points, strict=True)]
        table = table_of(Ends(steps[0], points[0], steps[1], points[1], dtype))
        operand, result = (data, encodings[0]), ((256,), dtype, encodings[1])
        expected = ask(code, operand, result, **options)
        lowest = int(every[0])
        np.testing.assert_array_equal(table[data.astype(np.int64) - lowest], expected)


@pytest.mark.parametrize("code", list(_TABLES))
def test_tables_equal_litert(code: str) -> None:
    table_of, rooted = _TABLES[code]
    check(code, table_of, "int8", rooted=rooted)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_equals_litert(dtype: str, approximate: bool) -> None:
    table_of = partial(tables.gelu_table, approximate)
    check("GELU", table_of, dtype, approximate=approximate)


def test_negative_integers_equal_litert() -> None:
    data, encoding = every_value("int8"), Quantization.per_tensor(0.5, 3)
    expected = litert("NEG", [(data, encoding)], ((256,), "int8", encoding))
    np.testing.assert_array_equal(tables.negative_table("int8"), expected)


def test_what_has_no_root_is_as_zero() -> None:
    assert tables.sqrt_table(Ends(1.0, 0, 1.0, 5, "int8"))[0] == 5
    assert tables.rsqrt_table(Ends(1.0, 0, 1.0, 5, "int8"))[0] == 127


def test_scales_that_are_too_far_apart() -> None:
    with pytest.raises(QnnError, match="rsqrt needs scales that go together"):
        tables.rsqrt_table(Ends(1e-20, 0, 1e-20, 0, "int8"))
    fails("too far", tables.absolute_table, Ends(1e9, 0, 1e-3, 0, "int8"))


def test_without_a_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Ends(0.03, 0, 0.03, 0, "int8")
    made = (tables.elu_table, tables.log_table)
    expected = [table(ends) for table in made]

    def none(_name: object) -> ctypes.CDLL:
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", none)
    for table, wanted in zip(made, expected, strict=True):
        np.testing.assert_allclose(table(ends), wanted, atol=1)
    by_hand = tables.gelu_table(False, ends)
    assert by_hand[128] == 0


def of_words(scale: float, result_scale: float) -> Ends:
    return Ends(scale, 0, result_scale, 0, "int16")


def test_magnitudes_and_slopes_of_int16() -> None:
    same = of_words(0.5, 0.5)
    assert tables.absolute_table(same)[[0, 1, 32768 - 7]].tolist() == [32767, 32767, 7]
    halved = tables.absolute_table(of_words(0.5, 1.0))
    assert halved[[32768 - 7, 32768 + 6]].tolist() == [4, 3]
    leaky = tables.leaky_relu_table(-0.5, same)
    assert leaky[[32768 - 8, 32768, 32768 + 8]].tolist() == [4, 0, 8]


def test_roots_of_int16() -> None:
    # TFLite rounds roots towards zero.
    assert tables.sqrt_table(of_words(1.0, 1.0))[[0, 32768 + 8, 32768 + 9]].tolist() == [0, 2, 3]
    rsqrt = tables.rsqrt_table(of_words(1.0, 2.0**-13))[[0, 32768 + 4 * 128]].tolist()
    assert abs(rsqrt[0] - 2**15) < 2
    assert abs(rsqrt[1] - 2**13 / 512**0.5) < 2


def test_scales_of_int16_that_do_not_fit() -> None:
    fails("input_scale must be positive", tables.tanh_table, of_words(-1.0, 2.0**-15))
    fails("int32 does not hold", tables.leaky_relu_table, 0.1, of_words(1.0, 1e-6))
