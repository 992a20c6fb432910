from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from qnn_ops import decode_boxes
from tests.support.operators import check_operator, module_of
from tests.support.x86 import runs_here

SCALES: dict[str, Any] = {"y_scale": 10.0, "x_scale": 7.0, "h_scale": 5.0, "w_scale": 3.0}


def test_primitives_equal_the_reference() -> None:
    rng = np.random.default_rng(0)
    encodings = rng.normal(0, 5, (300, 6)).astype(np.float32)
    anchors = rng.random((300, 4), np.float32)
    check_operator(decode_boxes, [encodings, anchors], **SCALES)


@pytest.mark.skipif(not runs_here("haswell"), reason="this machine has no x86 FMA")
def test_centres_are_not_contracted_to_fma() -> None:
    # A third times 3 is 1 once it is rounded, and sizes are 0.
    operands = [np.array([[1, 1, -1e5, -1e5]], np.float32), np.array([[-1, -1, 3, 3]], np.float32)]
    scales = {**SCALES, "y_scale": 3.0, "x_scale": 3.0}
    library = tvm_qnn.build(module_of(decode_boxes, operands, **scales), "llvm -mcpu=haswell")
    actual = library.run(*operands)
    np.testing.assert_array_equal(actual, np.zeros((1, 4), np.float32))
