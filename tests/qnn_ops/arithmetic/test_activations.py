import math

import numpy as np

from qnn_ops.arithmetic.activations import activation_range
from tests.support.errors import failing, giving

test_table = giving(
    lambda kind, dtype, scale, zero_point: activation_range(kind, scale, zero_point, dtype),
    ("none", "int8", 0.1, 5, (-128, 127)),
    ("relu", "uint8", 0.1, 5, (5, 255)),
    ("relu", "int8", 0.1, -128, (-128, 127)),
    ("relu6", "uint8", 6 / 255, 0, (0, 255)),
    ("relu6", "int8", 0.1, -10, (-10, 50)),
    ("relu6", "int8", 0.01, -10, (-10, 127)),
    ("relu6", "uint8", 4.0, 7, (7, 9)),  # 6/4 is a tie, rounded away
    ("relu_n1_to_1", "int8", 0.1, 3, (-7, 13)),
    ("relu_n1_to_1", "int8", 2.0, 0, (-1, 1)),  # ties on both sides
    ("relu_n1_to_1", "uint8", 0.01, 20, (0, 120)),
    ("relu6", "int8", 1e-40, 0, (0, 127)),  # 6/scale is beyond float32
)


def test_the_division_is_in_float32() -> None:
    # Just above 4/7 as float32: 6 over it is below 10.5, yet rounds to 10.5 in float32.
    scale = float(np.float32(4 / 7))
    assert scale > 4 / 7
    assert activation_range("relu6", scale, 0, "int8") == (0, 11)
    assert round(6 / scale) == 10


test_bad = failing(
    lambda arguments: activation_range(*arguments),
    (("gelu", 0.1, 0, "int8"), "one of none, relu"),
    (("relu", 0.0, 0, "int8"), "positive and finite"),
    (("relu", math.nan, 0, "int8"), "positive and finite"),
    (("relu", 0.1, 200, "int8"), "zero_point must lie within int8"),
    (("relu", 0.1, 0, "float32"), "dtype must be"),
)
