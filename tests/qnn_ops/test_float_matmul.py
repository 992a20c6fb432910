"""By hand; tests/frontends/tflite/converters/test_float_layers.py compares with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, float_matmul
from tests.support.operators import check_round_trips, module_of

ROW = np.array([[2.0**24, 1, 1, -(2.0**24)]], np.float32)
ONES = np.ones((4, 1), np.float32)


def test_products_are_added_one_by_one() -> None:
    # 2^24 + 1 is 2^24 in float32.
    assert float_matmul.evaluate(ROW, ONES).tolist() == [[0]]
    assert float_matmul.evaluate(ROW[:, ::-1], ONES).tolist() == [[2]]


def test_onnx_runtime_adds_up_panels_by_themselves() -> None:
    row, ones = np.zeros((1, 160), np.float32), np.ones((160, 200), np.float32)
    row[0, 0], row[0, 130:132] = 2.0**24, 1
    assert float_matmul.evaluate(row, ones)[0, 0] == 2.0**24
    assert float_matmul.evaluate(row, ones, "onnxruntime")[0, 0] == 2.0**24 + 2


@pytest.mark.parametrize("shape", [(3, 1), (4,), (2, 4, 1)])
def test_operands_must_fit(shape: tuple[int, ...]) -> None:
    with pytest.raises(QnnError, match=r"rhs must have|have no product"):
        module_of(float_matmul, [np.ones((3, 5, 4), np.float32), np.ones(shape, np.float32)])


def test_text_and_json_give_it_back() -> None:
    check_round_trips(float_matmul, [ROW, ONES])
