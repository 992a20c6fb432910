"""DEPTH_TO_SPACE, SPACE_TO_DEPTH, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_blocks_equal_litert() -> None:
    sheet = Sheet(seed=5)
    data = sheet.random_input((4, 4, 6, 8), "uint8", Q)
    result = (ANY, "uint8", Q)
    sheet.operator("DEPTH_TO_SPACE", [data], result, block_size=2)
    sheet.operator("SPACE_TO_DEPTH", [data], result, block_size=2)
    sizes, widths = sheet.constant([2, 3]), sheet.constant([[1, 1], [0, 3]])
    sheet.operator("SPACE_TO_BATCH_ND", [data, sizes, widths], result)
    operands = [data, sheet.constant([1, 2]), sheet.constant([[1, 0], [0, 2]])]
    sheet.operator("BATCH_TO_SPACE_ND", operands, result)
    rows = sheet.random_input((2, 4, 3), "int8", Q)
    operands = [rows, sheet.constant([2]), sheet.constant([[1, 1]])]
    sheet.operator("SPACE_TO_BATCH_ND", operands, (ANY, "int8", Q))
    numbers = sheet.input(np.arange(12, dtype=np.int32).reshape(1, 2, 2, 3))
    operands = [numbers, sheet.constant([3, 1]), sheet.constant([[0, 1], [0, 0]])]
    sheet.operator("SPACE_TO_BATCH_ND", operands, (ANY, "int32", None))
    sheet.check()


@pytest.mark.parametrize("code", ["DEPTH_TO_SPACE", "SPACE_TO_DEPTH"])
def test_blocks_must_fit(code: str) -> None:
    sheet = Sheet()
    data = sheet.random_input((1, 3, 3, 3), "int8", Q)
    sheet.operator(code, [data], (ANY, "int8", Q), block_size=2)
    sheet.check_refused("blocks of 2 of shape")
