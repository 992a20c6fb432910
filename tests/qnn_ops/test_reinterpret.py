"""By hand; tests/frontends/tflite/converters/test_bitcast.py compares with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, reinterpret
from tests.support.operators import module_of

REALS = np.array([0, -0.0, 1, -np.inf], np.float32)
BITS = np.array([0, -(2**31), 0x3F800000, 0xFF800000 - 2**32], np.int32)


def test_by_hand() -> None:
    assert reinterpret.evaluate(REALS).tolist() == BITS.tolist()
    assert reinterpret.evaluate(BITS).tobytes() == REALS.tobytes()


def test_other_types_are_refused() -> None:
    with pytest.raises(QnnError, match="data must be"):
        module_of(reinterpret, [BITS.astype(np.int64)])
