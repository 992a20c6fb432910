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
from tests.support.litert import encoded, litert, single_op
from tvm_qnn.oracle import LiteRtSession

DTYPES = pytest.mark.parametrize("dtype", ["int8", "uint8"])


def ask(code: str, data: Array, ends: Ends, **options: Any) -> Array:
    """Run LiteRT's reference kernel; of ELU there is only the one that it runs by default."""
    given, made = encoded(ends[:4])
    operand, result = (data, given), (data.shape, ends.dtype, made)
    if code != "ELU":
        return litert(code, [operand], result, **options)
    model = single_op(code, [operand], result, **options)
    (answer,) = LiteRtSession(model, xnnpack=False).run([data])
    return answer


def random_scale(rng: np.random.Generator, low: float, high: float) -> float:
    exponent = rng.uniform(low, high)
    # Powers of two make ties frequent.
    return float(np.float32(2.0 ** (np.round(exponent) if rng.integers(3) == 0 else exponent)))


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


def tanh_scales(rng: np.random.Generator) -> tuple[float, float]:
    return random_scale(rng, -10, 1), random_scale(rng, -9, -5)


def scale_pair(rng: np.random.Generator) -> tuple[float, float]:
    return random_scale(rng, -8, 4), random_scale(rng, -8, 4)


Drawn = tuple[float, float, Callable[[Ends], Array], dict[str, Any]]
"""Scales of the data and of the result, what makes the table, and options of the operator."""


def leaky_relu(rng: np.random.Generator, _case: int) -> Drawn:
    alpha = int(rng.integers(-8, 9)) / 8 if rng.integers(3) == 0 else rng.uniform(-1.5, 1.5)
    alpha = float(np.float32(alpha))
    return *scale_pair(rng), partial(tables.leaky_relu_table, alpha), {"alpha": alpha}


def gelu(rng: np.random.Generator, case: int) -> Drawn:
    is_near = bool(case // 2 % 2)
    return *scale_pair(rng), partial(tables.gelu_table, is_near), {"approximate": is_near}


def plain(table_of: Callable[[Ends], Array]) -> Callable[[np.random.Generator, int], Drawn]:
    return lambda rng, _: (*scale_pair(rng), table_of, {})


_OF_BYTES: dict[str, Callable[[np.random.Generator, int], Drawn]] = {
    "LOGISTIC": lambda rng, _: (random_scale(rng, -10, 1), 1 / 256, tables.logistic_table, {}),
    "TANH": lambda rng, _: (*tanh_scales(rng), tables.tanh_table, {}),
    "HARD_SWISH": lambda rng, case: (*swish_scales(rng, case), tables.hard_swish_table, {}),
    "LEAKY_RELU": leaky_relu,
    "GELU": gelu,
}
_OF_INT8 = {
    "ABS": plain(tables.absolute_table),
    "ELU": plain(tables.elu_table),
    "LOG": plain(tables.log_table),
    "RSQRT": plain(tables.rsqrt_table),
    "SQRT": plain(tables.sqrt_table),
}


_CASES = [(code, dtype) for code in _OF_BYTES for dtype in ("int8", "uint8")]


@pytest.mark.parametrize(("code", "dtype"), [*_CASES, *((code, "int8") for code in _OF_INT8)])
def test_tables_of_any_scales_equal_litert(code: str, dtype: str) -> None:
    rng, every = np.random.default_rng(1), every_value(dtype)
    for case in range(300):
        scale, result_scale, table_of, options = {**_OF_BYTES, **_OF_INT8}[code](rng, case)
        point, result_point = full_range(rng, dtype, (2,)).tolist()
        if case % 2:
            result_point = int(every[0])
        ends = Ends(scale, point, result_scale, result_point, dtype)
        # A negative input ends a run of these functions with an error.
        data = np.maximum(every, point).astype(dtype) if "SQRT" in code else every
        found = table_of(ends)[data.astype(np.int64) - int(every[0])]
        np.testing.assert_array_equal(found, ask(code, data, ends, **options))


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
    fails("output_multiplier_exponent", ask, "HARD_SWISH", every_value("int8"), parameters)
    with pytest.raises(QnnError, match=r"input_scale < 128 \* output_scale, got 1.0 and 0.0078"):
        tables.hard_swish_table(parameters)
    step = np.nextafter(np.float32(1 / 128), np.float32(1))
    tables.hard_swish_table(Ends(1.0, 0, step, 0, "int8"))


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
