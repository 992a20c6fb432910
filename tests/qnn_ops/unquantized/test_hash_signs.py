"""By hand; tests/frontends/tflite/converters/test_tables.py compares with LiteRT."""

import numpy as np
import pytest

from qnn_ops import QnnError, hash_signs
from tests.support.errors import fails
from tests.support.operators import module_of

ITEMS, SEEDS = np.arange(6, dtype=np.uint8).reshape(2, 3), np.array([0.5, 1, 7], np.float32)


def test_opposite_weights_give_opposite_signs() -> None:
    weights = np.array([1, 0.5], np.float32)
    signs = [hash_signs.evaluate(ITEMS, sign * weights, SEEDS) for sign in (1, -1)]
    assert (signs[0] + signs[1]).tolist() == [1, 1, 1]


def test_nothing_is_not_positive() -> None:
    assert hash_signs.evaluate(ITEMS, np.zeros(2, np.float32), SEEDS).tolist() == [0, 0, 0]


def test_operands_must_fit() -> None:
    weights = np.ones(2, np.float32)
    with pytest.raises(QnnError, match=r"weights must have shape \(2,\), got \(1,\)"):
        module_of(hash_signs, [ITEMS, weights[:1], SEEDS])
    with pytest.raises(QnnError, match="items must have at most 60 bytes, got 61"):
        module_of(hash_signs, [np.zeros((2, 61), np.uint8), weights, SEEDS])
    fails("items must be uint8", module_of, hash_signs, [ITEMS.astype(np.int8), weights, SEEDS])
