"""Tensors so large that their kernels are shared out to threads."""

from typing import Any

import numpy as np
import pytest

from qnn_ops import (
    dequantize,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_mean,
    quantized_multiply,
    quantized_pad,
    quantized_pool2d,
    quantized_resize2d,
    requantize,
)
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.kernels import PLACES, Call, check_calls, kernels_of, lowered
from tests.support.x86 import runs_here

RNG = np.random.default_rng(0)
IMAGE = full_range(RNG, "uint8", (1, 57, 59, 161))
AVX2 = next(place for place in PLACES if place.name == "avx2")
PAIR = encodings(lhs=(0.02, 3), rhs=(0.0313, 7), output=(0.0417, 12), out_dtype="uint8")
CHANGE = encodings(input=(0.02, 3), output=(0.0313, 9), out_dtype="uint8")
CONCAT = encodings(
    input_scales=[0.02, 0.0417], input_zero_points=[3, 9], output=(0.0417, 9), out_dtype="uint8"
)
REAL: dict[str, Any] = {"scale": 0.02, "zero_point": 3}
CALLS = [
    Call(quantized_add, [IMAGE, IMAGE[:, :, ::-1]], PAIR),
    Call(quantized_multiply, [IMAGE, IMAGE[:, :1, :1]], PAIR),
    Call(requantize, [IMAGE], CHANGE),
    Call(quantized_concat, [[IMAGE, IMAGE[..., :100]]], CONCAT),
    Call(quantized_pool2d, [IMAGE], {"pool_type": "avg", "pool_size": 3, "layout": "NHWC"}),
    Call(quantized_mean, [IMAGE[0]], {"axis": 1, "keepdims": False, **CHANGE}),
    Call(quantized_pad, [IMAGE], {"pad_width": [0, 0, 1, 1, 2, 0, 0, 0], "pad_value": 7}),
    Call(quantized_resize2d, [IMAGE], {"size": [30, 70], "method": "nearest_neighbor"}),
    Call(quantized_resize2d, [IMAGE], {"size": [30, 70], "method": "bilinear"}),
    Call(quantize, [RNG.normal(size=(300, 301)).astype(np.float32)], {**REAL, "out_dtype": "int8"}),
    Call(dequantize, [IMAGE], REAL),
]


@pytest.mark.skipif(not runs_here("haswell"), reason="the processor has no AVX2")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.operator.name)
def test_tasks_do_all_of_the_work(call: Call) -> None:
    (function,) = kernels_of(lowered(call, AVX2.target))
    assert "T.parallel" in function.script()
    check_calls(AVX2, [call])
