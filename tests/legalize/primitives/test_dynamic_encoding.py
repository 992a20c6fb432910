from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import dynamic_encoding
from tests.qnn_ops.test_dynamic_quantization import rows
from tests.support.operators import check_operator


@pytest.mark.parametrize("asymmetric", [False, True])
def test_primitives_equal_the_reference(asymmetric: bool) -> None:
    rng = np.random.default_rng(2)
    data = np.concatenate([rows(rng, kind, (50, 9)) for kind in range(4)])
    data[0, 3], data[1, 4], data[2, 0], data[3] = np.nan, np.inf, -np.inf, np.nan
    check_operator(dynamic_encoding, [data.reshape(4, 50, 9)], asymmetric=asymmetric)
    if asymmetric:
        attrs = {"asymmetric": True, "arithmetic": "onnxruntime"}
        check_operator(dynamic_encoding, [data.reshape(4, 50, 9)], **attrs)
        check_operator(dynamic_encoding, [data.reshape(4, 50, 9)], **attrs, whole=True)
