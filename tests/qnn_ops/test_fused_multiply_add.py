from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, fused_multiply_add
from qnn_ops.float_epilogue import fused_multiply_add_float32
from tests.support.operators import check_round_trips


def test_operands_broadcast() -> None:
    lhs = np.arange(6, dtype=np.float32).reshape(2, 3)
    rhs, addend = (np.array(x, np.float32) for x in ([0.1, 0.2, 0.3], [[1], [2]]))
    result = fused_multiply_add.evaluate(lhs, rhs, addend)
    np.testing.assert_array_equal(result, fused_multiply_add_float32(lhs, rhs, addend))


def test_operands_must_be_float32_and_broadcast() -> None:
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(QnnError, match="rhs must be float32, got int8"):
        fused_multiply_add.evaluate(x, x.astype(np.int8), x)
    with pytest.raises(QnnError, match="must broadcast to one shape"):
        fused_multiply_add.evaluate(x, x, np.zeros(2, np.float32))


def test_round_trips() -> None:
    x = np.zeros((2, 3), np.float32)
    check_round_trips(fused_multiply_add, [x, x[0], x[:1]])
