"""quantized_lstm as loops: one function for all steps."""

import pytest

from qnn_ops import quantized_lstm
from tests.support.lstm import PARTS, lstm_call
from tests.support.operators import check_operator, check_operators


@pytest.mark.parametrize("gates", [3, 4])
@pytest.mark.parametrize("parts", PARTS)
def test_primitives_equal_the_reference(gates: int, parts: str) -> None:
    check_operators([(quantized_lstm, *lstm_call(seed, parts, gates)) for seed in range(3)])


def test_sums_that_leave_32_bits_wrap() -> None:
    operands, attrs = lstm_call(9, "plain")
    operands[0][0] += 2**31 - 1
    attrs["input_multipliers"] = [3.0, 0.5, 2.0, 1e-9]
    check_operator(quantized_lstm, operands, **attrs)
