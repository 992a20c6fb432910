from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError, quantized_squared_difference
from qnn_ops.overflow import check_overflow
from tests.support.arrays import full_range
from tests.support.litert import litert


def test_by_hand() -> None:
    lhs, rhs = np.array([3, -4, 127], np.int8), np.array([1, 4, -128], np.int8)
    result = quantized_squared_difference.evaluate(lhs, rhs, 0.5, 0, 0.5, 0, 1.0, -1, "int8")
    np.testing.assert_array_equal(result, np.array([0, 15, 127], np.int8))


def test_equals_litert() -> None:
    rng = np.random.default_rng(4)
    every = np.arange(256).astype(np.uint8).view("int8")
    exponents = rng.uniform(-8, 2, (30, 3))
    exponents[:, 2] = 2 * exponents[:, :2].max(axis=1) + rng.uniform(-4, 9, 30)
    exponents[::3] = np.round(exponents[::3])
    for scales in (2.0**exponents).astype(np.float32):
        encodings = [
            Quantization.per_tensor(float(scale), int(full_range(rng, "int8", ())))
            for scale in scales
        ]
        arrays = (every.reshape(256, 1), every.reshape(1, 256))
        numbers = [n for q in encodings for n in (float(q.scale[0]), int(q.zero_point[0]))]
        result = quantized_squared_difference.evaluate(*arrays, *numbers, "int8")
        operands = list(zip(arrays, encodings[:2], strict=True))
        expected = litert("SQUARED_DIFFERENCE", operands, ((256, 256), "int8", encodings[2]))
        np.testing.assert_array_equal(result, expected)


def test_results_too_fine_for_tflite() -> None:
    x = relax.Var("x", relax.TensorType((2,), "int8"))
    for output_scale, fits in ((2.0**-13, True), (2.0**-14, False)):
        call = quantized_squared_difference(x, x, 0.5, 0, 0.25, 0, output_scale, 0, "int8")
        call = relax.BlockBuilder().normalize(call)
        if fits:
            check_overflow(call, {})
        else:
            with pytest.raises(QnnError, match="multiplier below 1"):
                check_overflow(call, {})
