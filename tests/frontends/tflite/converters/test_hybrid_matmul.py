from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from tests.support.hybrid import float_rows, weights
from tests.support.tflite import Sheet

SHAPES: list[Any] = [
    # Data, weights, whether each is transposed.
    ((5, 8), (8, 6), False, False),
    ((2, 3, 8), (8, 6), False, False),
    ((2, 3, 8), (6, 8), False, True),
    ((8, 3), (8, 6), True, False),
    ((2, 3, 8), (1, 8, 6), False, False),
    ((2, 3, 8), (2, 8, 6), False, False),
    ((4, 3, 8), (4, 6, 8), False, True),
    ((2, 3, 4, 8), (8, 6), False, False),
    ((2, 3, 4, 8), (2, 3, 8, 6), False, False),
    ((2, 8, 3), (2, 8, 6), True, False),
    ((1, 3, 8), (4, 8, 6), False, False),
    ((2, 2, 8), (1, 600, 8), False, True),
    ((0, 3, 8), (8, 6), False, False),
]


@pytest.mark.parametrize(("asymmetric", "shapes"), [(False, SHAPES[1::3]), (True, SHAPES)])
def test_every_element_is_litert_s(asymmetric: bool, shapes: list[Any]) -> None:
    sheet = Sheet(1)
    for lhs, rhs, adj_x, adj_y in shapes:
        data = sheet.input(float_rows(sheet.rng, lhs))
        rows = lhs[-1] if adj_x else lhs[-2]
        columns = rhs[-2] if adj_y else rhs[-1]
        batches = np.broadcast_shapes(lhs[:-2], rhs[:-2])
        sheet.operator(
            "BATCH_MATMUL",
            [data, weights(sheet, rhs, 1)],
            ((*batches, rows, columns), "float32", None),
            version=4,
            adj_x=adj_x,
            adj_y=adj_y,
            asymmetric_quantize_inputs=asymmetric,
        )
    sheet.check()


def test_more_rows_than_places() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1 << 24, 2, 1, 1), "float32")
    scale, array = Quantization.per_tensor(0.1, 0), np.ones((1, 1), np.int8)
    w = writer.tensor("w", array.shape, "int8", scale, array)
    y = writer.tensor("y", (1 << 24, 2, 1, 1), "float32")
    writer.operator("BATCH_MATMUL", [x, w], [y], version=4)
    with pytest.raises(QnnError, match="has more than 16777216 rows"):
        from_tflite(writer.finish([x], [y]))
