from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import quantized_prelu
from tests.support.arrays import full_range
from tests.support.elementwise import product_scales
from tests.support.litert import litert


def test_by_hand() -> None:
    data, slopes = np.array([5, -3, 1], np.int8), np.array([3, 3, 3], np.int8)
    result = quantized_prelu.evaluate(data, slopes, 0.5, 1, 0.25, 1, 0.5, 10, "int8")
    # 2.0 stays; -2.0 times 0.5; 0.
    np.testing.assert_array_equal(result, np.array([14, 8, 10], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(dtype: str) -> None:
    rng = np.random.default_rng(4)
    every = np.arange(256).astype(np.uint8).view(dtype)
    for scales in product_scales(5, 30).astype(np.float32):
        encodings = [
            Quantization.per_tensor(float(scale), int(full_range(rng, dtype, ())))
            for scale in scales
        ]
        data = np.repeat(every.reshape(256, 1), 256, axis=1)
        arrays = (data, every.reshape(1, 256))
        numbers = [n for q in encodings for n in (float(q.scale[0]), int(q.zero_point[0]))]
        result = quantized_prelu.evaluate(*arrays, *numbers, dtype)
        operands = list(zip(arrays, encodings[:2], strict=True))
        expected = litert("PRELU", operands, (data.shape, dtype, encodings[2]))
        np.testing.assert_array_equal(result, expected)
