from typing import Any

import numpy as np
import pytest

from qnn_ops import quantized_lstm
from tests.support.errors import fails
from tests.support.lstm import lstm_call
from tests.support.operators import module_of


def test_steps_in_two_calls_are_steps_in_one() -> None:
    operands, attrs = lstm_call(1, "projection", sizes=(1, 4, 5))
    sums, hidden, cell, *rest = operands
    whole = quantized_lstm.evaluate(*operands, **attrs)
    first = quantized_lstm.evaluate(sums[:, :3], hidden, cell, *rest, **attrs)
    outputs, cells = first[:, :18], first[:, 18:]
    last = outputs[:, -6:].astype(np.int8)
    second = quantized_lstm.evaluate(sums[:, 3:], last, cells, *rest, **attrs)
    np.testing.assert_array_equal(np.concatenate([outputs, second], axis=1), whole)


def test_an_open_gate_keeps_what_a_cell_holds() -> None:
    operands, attrs = lstm_call(2, "plain", sizes=(1, 1, 3))
    attrs |= {"cell_exponent": -12, "cell_clip": 0, "recurrent_multipliers": [0.0] * 4}
    # The input gate is shut, the forget gate open.
    operands[0] = np.repeat(np.array([-(2**30), 2**30, 0, 0], np.int32), 3).reshape(1, 1, 12)
    result = quantized_lstm.evaluate(*operands, **attrs)
    assert np.abs(result[0, 3:] - operands[2][0].astype(int)).max() < 40


@pytest.mark.parametrize(
    ("place", "array", "message"),
    [
        (0, np.zeros((2, 5, 27), np.int32), r"sums must be int32 of shape \(2, 5, 28\)"),
        (0, np.zeros((2, 28), np.int32), "sums must have 3 dimensions"),
        (1, np.zeros((2, 7), np.uint8), "hidden must be int8"),
        (2, np.zeros((2, 7), np.int8), "cell must be int16"),
        (3, np.zeros((28, 6), np.int8), "hidden must be int8 of shape"),
    ],
)
def test_operands_that_do_not_fit_are_named(place: int, array: Any, message: str) -> None:
    operands, attrs = lstm_call(3, "plain")
    operands[place] = array
    fails(f"quantized_lstm: {message}", module_of, quantized_lstm, operands, **attrs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cell_exponent": -8}, "cell_exponent must lie within -15 and -9"),
        ({"cell_clip": 2**15}, "cell_clip must lie within"),
        ({"input_multipliers": [0.1] * 2}, "an LSTM has 3 or 4 gates"),
        ({"recurrent_multipliers": [0.1] * 3}, "recurrent_multipliers must be 4 numbers"),
        ({"norm_scales": [0.1] * 3 + [0.0]}, "norm_scales must lie within"),
        ({"extra_names": ["peepholes", "norm_weights"]}, "extra_names must be of"),
        ({"product_multiplier": float("inf")}, "the scales do not go together"),
    ],
)
def test_numbers_that_do_not_fit_are_named(changes: dict[str, Any], message: str) -> None:
    operands, attrs = lstm_call(4, "all")
    fails(message, module_of, quantized_lstm, operands, **{**attrs, **changes})
