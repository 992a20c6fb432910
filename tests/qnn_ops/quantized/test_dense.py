import numpy as np
import pytest

from qnn_ops import quantized_dense
from tests.differential.layers import dense
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.errors import failing
from tests.support.litert import sharp_layers, weighted
from tests.support.operators import module_of
from tests.support.steps import referred

PLAIN = encodings(input=(0.05, 3), kernel=(0.01, 0), output=(0.1, -5), out_dtype="int8")


def test_ties_go_away_from_zero_only_where_the_rounding_says_so() -> None:
    data, weight = np.array([1], np.int8), np.array([[5], [3], [-3], [-5]], np.int8)

    def rounded(rounding: str) -> list[int]:
        return quantized_dense.evaluate(
            data, weight, 1.0, 0, 1.0, 0, 2.0, 0, "int8", rounding=rounding
        ).tolist()

    assert rounded("float64") == [3, 2, -2, -3]
    assert rounded("upward") == [3, 2, -1, -2]
    assert rounded("float32") == [2, 2, -2, -2]


def test_data_of_any_rank_gives_the_rows_of_the_matrix_product() -> None:
    rng = np.random.default_rng(3)
    data, weight = full_range(rng, "int8", (2, 3, 4, 5)), full_range(rng, "int8", (6, 5))
    result = quantized_dense.evaluate(data, weight, **PLAIN)
    assert result.shape == (2, 3, 4, 6)
    row = quantized_dense.evaluate(data[1, 2, 3], weight, **PLAIN)
    assert row.shape == (6,)
    np.testing.assert_array_equal(result[1, 2, 3], row)


test_equals_litert = referred(dense)


@pytest.mark.parametrize(("dtype", "count"), [("uint8", 1), ("int8", 1), ("int8", 200)])
def test_equals_litert_where_the_multiplier_decides(dtype: str, count: int) -> None:
    disagreeing = 0
    for attrs, bias in sharp_layers(dtype, count, (-8, -3)):
        data, weight = np.full((1, 1), attrs["input_zero_point"], dtype), np.ones((200, 1), dtype)
        actual = quantized_dense.evaluate(data, weight, bias=bias, **attrs)
        expected = weighted("FULLY_CONNECTED", data, weight, bias, attrs)
        np.testing.assert_array_equal(actual, expected)
        other = quantized_dense.evaluate(data, weight, bias=bias, rounding="upward", **attrs)
        disagreeing += int(np.count_nonzero(other != expected))
    assert disagreeing > 0


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(
        quantized_dense,
        [np.zeros((2, 3), np.int8), np.zeros((4, 3), np.int8)],
        **{**PLAIN, **change},
    ),
    ({"units": 5}, "units is 5, the weight has 4"),
    ({"kernel_scale": [0.1, 0.2]}, "kernel_scale has 2 values, the channel axis has 4"),
    ({"kernel_scale": -1.0}, "kernel_scale must be positive and finite, got -1.0"),
    ({"input_zero_point": 128}, "input_zero_point must lie within int8, got 128"),
    ({"output_zero_point": -129}, "output_zero_point must lie within int8, got -129"),
    ({"out_dtype": "int16"}, "out_dtype is int16, the data is"),
    ({"rounding": "up"}, "rounding must be one of"),
    ({"output_scale": 1e-20, "rounding": "upward"}, "the scales do not go together"),
    ({"out_min": 3, "out_max": 2}, "out_min and out_max must be ordered"),
    match="quantized_dense: .*{}",
)


test_operands_that_do_not_fit_are_named = failing(
    lambda operands: module_of(quantized_dense, operands, **PLAIN),
    ([np.zeros((2, 3), np.float32), np.zeros((4, 3), np.int8)], "quantized_data must be int8"),
    ([np.zeros((2, 3), np.int8), np.zeros((4, 3), np.int32)], "quantized_weight must be int8"),
    ([np.zeros((2, 3), np.int8), np.zeros((4, 3, 1), np.int8)], "must have 2 dimensions"),
    ([np.zeros((), np.int8), np.zeros((4, 3), np.int8)], "at least 1 dimension"),
    ([np.zeros((2, 5), np.int8), np.zeros((4, 3), np.int8)], "has 5 values, .* takes 3"),
    (
        [np.zeros((2, 3), np.int8), np.zeros((4, 3), np.int8), np.zeros(3, np.int32)],
        r"bias must have shape \(4,\), got \(3,\)",
    ),
    (
        [np.zeros((2, 3), np.int8), np.zeros((4, 3), np.int8), np.zeros(4, np.int64)],
        "bias must be int32, got int64",
    ),
)
