from __future__ import annotations

import numpy as np

from qnn_ops import decode_boxes
from tests.support.operators import check_operator


def test_primitives_equal_the_reference() -> None:
    rng = np.random.default_rng(0)
    encodings = rng.normal(0, 5, (300, 6)).astype(np.float32)
    anchors = rng.random((300, 4), np.float32)
    scales = {"y_scale": 10.0, "x_scale": 7.0, "h_scale": 5.0, "w_scale": 3.0}
    check_operator(decode_boxes, [encodings, anchors], **scales)
