"""What the kernels are compiled to, also where no machine at hand can run it."""

import re
from typing import Any

import numpy as np
import pytest

from qnn_ops import (
    quantize,
    quantized_add,
    quantized_concat,
    quantized_mean,
    quantized_multiply,
    quantized_pool2d,
    quantized_resize2d,
)
from tests.support.arm import CORTEX_A15, CORTEX_A72
from tests.support.assembly import loops
from tests.support.encodings import encodings
from tests.support.kernels import Call, kernels_of, lowered

BYTES = np.zeros((1, 9, 9, 100), np.uint8)
SCALES = encodings(lhs=(0.02, 3), rhs=(0.0313, 7), output=(0.0417, 12), out_dtype="uint8")
MEAN = encodings(axis=[1, 2], keepdims=True, input=(0.02, 3), output=(0.01, 9), out_dtype="uint8")
CONCAT = encodings(
    input_scales=[0.02, 0.05], input_zero_points=[3, 9], output=(0.02, 3), out_dtype="uint8"
)
CALLS = [
    Call(quantized_add, [BYTES, BYTES], SCALES),
    Call(quantized_multiply, [BYTES, BYTES], SCALES),
    Call(quantized_mean, [BYTES], MEAN),
    Call(quantized_pool2d, [BYTES], {"pool_type": "avg", "pool_size": 3, "layout": "NHWC"}),
    Call(quantized_resize2d, [BYTES], {"size": [20, 20], "method": "bilinear"}),
    Call(quantized_concat, [[BYTES, BYTES]], CONCAT),
    Call(
        quantize, [np.zeros(1000, np.float32)], {"scale": 0.1, "zero_point": 3, "out_dtype": "int8"}
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.operator.name)
@pytest.mark.parametrize(
    ("target", "vector"),
    [
        ({"kind": "llvm", "mcpu": "icelake-server"}, r"%[xyz]mm"),
        ({"kind": "llvm", "mcpu": "haswell"}, r"%[xy]mm"),
        (CORTEX_A72.target, r"\bv\d+\.|\bq\d+\b"),
        (CORTEX_A15.target, r"\b[dq]\d+\b"),
    ],
    ids=["avx512", "avx2", "aarch64", "armv7"],
)
def test_every_loop_is_of_vectors(call: Call, target: dict[str, Any], vector: str) -> None:
    (function,) = kernels_of(lowered(call, target))
    found = loops(function.with_attr("global_symbol", "kernel"), target)
    assert found
    for loop in found:
        assert re.search(vector, "\n".join(loop)), loop


@pytest.mark.parametrize(
    ("mcpu", "register"),
    [("icelake-server", "zmm"), ("skylake-avx512", "zmm"), ("haswell", "ymm"), ("nehalem", "xmm")],
)
def test_sums_fill_the_widest_registers(mcpu: str, register: str) -> None:
    target = {"kind": "llvm", "mcpu": mcpu}
    (function,) = kernels_of(lowered(CALLS[0], target))
    (loop,) = loops(function.with_attr("global_symbol", "kernel"), target)
    products = [line for line in loop if re.search("pmaddwd|pdpwssd", line)]
    assert len(products) == 8
    assert all(f"%{register}" in line for line in products)
