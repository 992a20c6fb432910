from typing import Any

import numpy as np
import pytest

from qnn_ops import (
    quantize,
    quantized_add,
    quantized_concat,
    quantized_mean,
    quantized_multiply,
    quantized_softmax,
)
from qnn_ops.dialect.attributes import dtype_range
from tests.support.encodings import encodings
from tests.support.operators import check_operator, check_operators

ORT: dict[str, Any] = {"arithmetic": "onnxruntime"}
RNG = np.random.default_rng(0)
ROW = np.arange(256).astype(np.uint8)
PAIRS = [
    (np.repeat(ROW, 256).reshape(256, 256), ROW.reshape(1, 256)),
    (ROW[:, None], np.tile(ROW, (256, 1))),
    (np.repeat(ROW, 256).reshape(256, 256), ROW[:, None]),
]


@pytest.mark.parametrize("operator", [quantized_add, quantized_multiply])
@pytest.mark.parametrize("model_dtype", ["uint8", "int8"])
@pytest.mark.parametrize("scales", [(0.5, 0.25, 0.5), (0.0371, 0.0113, 0.0529), (3.1, 7.0, 0.3)])
def test_pairs(operator: Any, model_dtype: str, scales: tuple[float, float, float]) -> None:
    a, b, c = scales
    attrs = encodings(lhs=(a, 7), rhs=(b, 200))
    attrs |= {"output_scale": c, "output_zero_point": 131, "out_dtype": "uint8"}
    attrs |= {"out_min": 3, "model_dtype": model_dtype, **ORT}
    check_operators([(operator, pair, attrs) for pair in PAIRS])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_quantize(dtype: str) -> None:
    steps = np.arange(-300, 300, 0.5).astype(np.float32)
    ends = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    data = np.concatenate([steps * np.float32(0.3), ends])
    data = np.stack([data, np.nextafter(data, np.float32(0))])
    check_operator(
        quantize, [data], scale=[0.3, 0.5], zero_point=[3, 99], out_dtype=dtype, axis=0, **ORT
    )


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_concat(dtype: str) -> None:
    low, high = dtype_range(dtype)
    values = np.arange(low, high + 1).astype(dtype).reshape(4, 64)
    attrs: dict[str, Any] = {
        "input_scales": [0.5, 0.037],
        "input_zero_points": [3, 100],
        "output_scale": 0.25,
    }
    attrs |= {"output_zero_point": 9, "out_dtype": dtype, "axis": 1, **ORT}
    check_operator(quantized_concat, [[values, values]], **attrs)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_mean(dtype: str) -> None:
    data = RNG.integers(*dtype_range(dtype), (2, 6, 7, 50)).astype(dtype)
    attrs: dict[str, Any] = {"input_scale": 0.5, "input_zero_point": 3, "output_scale": 0.25, **ORT}
    attrs |= {"output_zero_point": 9, "out_dtype": dtype, "axis": [1, 2], "keepdims": True}
    check_operator(quantized_mean, [data], **attrs)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("count", [3, 1000])
def test_softmax(dtype: str, count: int) -> None:
    data = RNG.integers(*dtype_range(dtype), (20, count), endpoint=True).astype(dtype)
    attrs: dict[str, Any] = {
        "input_scale": 0.0371,
        "input_zero_point": 3,
        "output_scale": 1 / 256,
        **ORT,
    }
    attrs |= {"output_zero_point": 0, "out_dtype": dtype}
    check_operator(quantized_softmax, [data], **attrs)
