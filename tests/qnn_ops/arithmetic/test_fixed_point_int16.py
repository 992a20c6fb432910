import numpy as np

from qnn_ops.arithmetic.fixed_point_int16 import divide_by_pot_int16, high_mul_int16, saturate_int16


def test_products_are_rounded_and_saturate() -> None:
    a = np.array([-(2**15), 2**14, 3, -3])
    assert high_mul_int16(a, a).tolist() == [2**15 - 1, 2**13, 0, 0]
    assert high_mul_int16(np.array([1, -1]), 2**14).tolist() == [1, 0]


def test_ties_are_rounded_away_from_zero() -> None:
    assert divide_by_pot_int16(np.array([2, -2, 6, -6, 5]), 2).tolist() == [1, -1, 2, -2, 1]


def test_what_int16_does_not_hold_saturates() -> None:
    assert saturate_int16(np.array([40_000, -40_000, 7])).tolist() == [2**15 - 1, -(2**15), 7]
