"""Arithmetic of float32 that Relax lacks: fused multiply-add, natural powers, bits."""

import numpy as np
import pytest

from qnn_ops import fused_multiply_add, natural_power, reinterpret
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.operators import module_of


def test_operands_broadcast() -> None:
    lhs = np.arange(6, dtype=np.float32).reshape(2, 3)
    rhs, addend = (np.array(x, np.float32) for x in ([0.1, 0.2, 0.3], [[1], [2]]))
    result = fused_multiply_add.evaluate(lhs, rhs, addend)
    np.testing.assert_array_equal(result, fused_multiply_add_float32(lhs, rhs, addend))


def test_operands_must_be_float32_and_broadcast() -> None:
    x = np.zeros((2, 3), np.float32)
    fails("rhs must be float32, got int8", fused_multiply_add.evaluate, x, x.astype(np.int8), x)
    fails("must broadcast to one shape", fused_multiply_add.evaluate, x, x, np.zeros(2, np.float32))


LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (-1, [3, -2, 65536]),
        (1, [3, -2, 65536]),
        (2, [9, 4, 0]),
        (3, [27, -8, 0]),
        (20, [3**20 - 2**32 + 2**31 - 2**31, 2**20, 0]),
        (31, [(3**31 + 2**31) % 2**32 - 2**31, -(2**31), 0]),
    ],
)
def test_integers_wrap(exponent: int, expected: list[int]) -> None:
    data = np.array([3, -2, 65536], np.int32)
    result = natural_power.evaluate(data, np.array([exponent], np.int32))
    assert result.tolist() == [(each + 2**31) % 2**32 - 2**31 for each in expected]


def test_each_product_of_float32_ends_at_the_largest_number() -> None:
    data = np.array([-1e30, np.inf, np.nan, 1.5], np.float32)
    result = natural_power.evaluate(data, np.array([3], np.int32))
    np.testing.assert_array_equal(result, np.array([-LARGEST, LARGEST, np.nan, 3.375], np.float32))
    np.testing.assert_array_equal(natural_power.evaluate(data, np.array([1], np.int32)), data)


def test_operands_must_fit() -> None:
    data, exponent = np.zeros(3, np.int32), np.array([2], np.int32)
    with pytest.raises(QnnError, match=r"exponent must have shape \(1,\), got \(2,\)"):
        module_of(natural_power, [data, np.array([2, 3], np.int32)])
    fails("data must be", module_of, natural_power, [data.astype(np.int64), exponent])


REALS = np.array([0, -0.0, 1, -np.inf], np.float32)
BITS = np.array([0, -(2**31), 0x3F800000, 0xFF800000 - 2**32], np.int32)


def test_by_hand() -> None:
    assert reinterpret.evaluate(REALS).tolist() == BITS.tolist()
    assert reinterpret.evaluate(BITS).tobytes() == REALS.tobytes()


def test_other_types_are_refused() -> None:
    fails("data must be", module_of, reinterpret, [BITS.astype(np.int64)])
