from __future__ import annotations

import numpy as np

from qnn_ops import reinterpret
from tests.support.operators import check_operator


def test_primitives_equal_the_reference() -> None:
    bits = np.random.default_rng(0).integers(-(2**31), 2**31, 99).astype(np.int32)
    check_operator(reinterpret, [bits])
    check_operator(reinterpret, [bits.view(np.float32)])
