"""Quantized operators on two tensors in Relax primitives, in each framework's arithmetic."""

from typing import Any

import numpy as np
import pytest

from qnn_ops import quantize, quantized_add, quantized_mean, quantized_multiply, quantized_subtract
from qnn_ops.dialect.attributes import dtype_range
from tests.support.operators import check_operator

XNNPACK: dict[str, Any] = {"arithmetic": "xnnpack"}
RNG = np.random.default_rng(0)
ROW = np.arange(-128, 128).astype(np.int8)


@pytest.mark.parametrize("operator", [quantized_add, quantized_subtract, quantized_multiply])
@pytest.mark.parametrize(
    "scales", [(0.5, 0.25, 0.5), (0.0371, 0.0113, 0.0529), (3.1, 7.0, 0.3), (3.1, 1e-5, 0.3)]
)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_pairs(operator: Any, scales: tuple[float, float, float], dtype: str) -> None:
    a, b, c = scales
    low = dtype_range(dtype)[0]
    row = (ROW.astype(np.int32) + 128 + low).astype(dtype)
    attrs: dict[str, Any] = {"lhs_scale": a, "lhs_zero_point": low + 7, "rhs_scale": b}
    attrs |= {"rhs_zero_point": low + 200, "output_scale": c, "output_zero_point": low + 131}
    attrs |= {"out_dtype": dtype, "out_min": low + 3, "out_max": low + 250, **XNNPACK}
    check_operator(operator, [np.repeat(row, 256).reshape(256, 256), row], **attrs)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_quantize(dtype: str) -> None:
    steps = np.arange(-300, 300, 0.5).astype(np.float32)
    ends = np.array([np.nan, np.inf, -np.inf, -0.0, 3e38], np.float32)
    data = np.concatenate([steps * np.float32(0.3), ends])
    data = np.stack([data, np.nextafter(data, np.float32(0))])
    check_operator(
        quantize, [data], scale=[0.3, 0.5], zero_point=[3, 99], out_dtype=dtype, axis=0, **XNNPACK
    )


@pytest.mark.parametrize("point", [3, 8])
@pytest.mark.parametrize("output_scale", [0.25, 0.5, 0.37])
def test_mean(output_scale: float, point: int) -> None:
    data = RNG.integers(-128, 128, (2, 6, 8, 500)).astype(np.int8)
    attrs: dict[str, Any] = {"input_scale": 0.5, "input_zero_point": 3, "out_dtype": "int8"}
    attrs |= {"output_scale": output_scale, "output_zero_point": point, "keepdims": True}
    check_operator(quantized_mean, [data], axis=[1, 2], **attrs, **XNNPACK)
