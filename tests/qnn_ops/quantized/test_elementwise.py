"""What quantized_add, quantized_subtract and quantized_multiply have in common."""

from typing import Any

import numpy as np
import pytest

from qnn_ops import quantized_add, quantized_multiply, quantized_subtract
from qnn_ops.dialect.registry import Operator
from tests.support.encodings import encodings
from tests.support.errors import fails
from tests.support.operators import module_of

OPERATORS = [quantized_add, quantized_subtract, quantized_multiply]
PLAIN = encodings(lhs=(0.05, 3), rhs=(0.01, 0), output=(0.1, -5), out_dtype="int8")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lhs_scale": 0.0}, "lhs_scale must be positive and finite"),
        ({"rhs_scale": [0.1, 0.2]}, "rhs_scale must be one value for the whole tensor"),
        ({"output_scale": float("inf")}, "output_scale must be positive and finite"),
        ({"lhs_zero_point": 200}, "lhs_zero_point must lie within int8, got 200"),
        ({"rhs_zero_point": -1}, "rhs_zero_point must lie within uint8, got -1"),
        ({"output_zero_point": 128}, "output_zero_point must lie within int8, got 128"),
        ({"out_dtype": "int16"}, "lhs beside int16 must be int16, got int8"),
        ({"out_min": 5, "out_max": 4}, "out_min and out_max must be ordered"),
    ],
)
def test_what_does_not_fit_is_named(
    operator: Operator[Any], change: dict[str, Any], message: str
) -> None:
    operands = [np.zeros((2, 3), np.int8), np.zeros(3, np.uint8)]
    fails(f"{operator.name}: {message}", module_of, operator, operands, **{**PLAIN, **change})


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
@pytest.mark.parametrize(
    ("lhs", "rhs", "message"),
    [
        (np.zeros(3, np.int8), np.zeros(4, np.int8), r"one shape, got \(3,\) and \(4,\)"),
        (np.zeros(3, np.int32), np.zeros(3, np.int8), "lhs must be int8 or uint8 or int16, got"),
        (np.zeros(3, np.int8), np.zeros(3, np.float32), "rhs must be int8 or uint8 or int16"),
    ],
)
def test_operands_that_do_not_fit_are_named(
    operator: Operator[Any], lhs: Any, rhs: Any, message: str
) -> None:
    fails(message, module_of, operator, [lhs, rhs], **PLAIN)


@pytest.mark.parametrize("operator", [quantized_add, quantized_subtract], ids=lambda op: op.name)
def test_far_too_small_an_output_scale_saturates(operator: Operator[Any]) -> None:
    every = np.arange(-128, 128, dtype=np.int8)
    for scales in ((1.0, 1.0, 1e-30), (3e38, 3e38, 1e-38), (1e-3, 1.0, 1e-7)):
        result = operator.evaluate(
            every[:, None], every, scales[0], 0, scales[1], 0, scales[2], 0, "int8"
        )
        real = {
            "quantized_add": every[:, None] * scales[0] + every * scales[1],
            "quantized_subtract": every[:, None] * scales[0] - every * scales[1],
        }[operator.name]
        np.testing.assert_array_equal(
            result, np.where(real > 0, 127, np.where(real < 0, -128, 0)).astype(np.int8)
        )
