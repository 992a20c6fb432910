"""Kernels that scale in float32, with and without a tensor that is added before they round."""

from typing import Any

import numpy as np
import pytest

from qnn_ops import quantized_conv2d, quantized_dense
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.kernels import Call, check_layer, lowered
from tests.support.x86 import host_has, marks

pytestmark = pytest.mark.skipif(
    not host_has("avx2", "fma"), reason="the processor cannot run AVX2 with FMA"
)

AVX2 = {"kind": "llvm", "mcpu": "haswell"}
SSE41 = {"kind": "llvm", "mcpu": "x86-64-v2"}
AVX512 = {"kind": "llvm", "mcpu": "cascadelake"}
SKYLAKE = {"kind": "llvm", "mcpu": "skylake-avx512"}
each_target = pytest.mark.parametrize(
    "target", [AVX2, pytest.param(AVX512, marks=marks("cascadelake"))], ids=["avx2", "vnni"]
)


ATTRS = encodings(input=(1.0, 0), kernel_zero_point=0, output_scale=1.0, rounding="onednn")
CONV: dict[str, Any] = {**ATTRS, "data_layout": "NHWC", "kernel_layout": "OHWI"}


def convolution(
    rng: np.random.Generator, channels: int, largest_bias: int = 3000
) -> tuple[np.ndarray, list[np.ndarray], list[float]]:
    data = full_range(rng, "uint8", (1, 5, 4, 9))
    kernel = full_range(rng, "int8", (channels, 2, 1, 9))
    bias = rng.integers(-largest_bias, largest_bias, channels, dtype=np.int32)
    # Powers of two make ties frequent.
    scales = 2.0 ** rng.integers(-10, -6, channels) * rng.choice([1.0, 0.75, 0.31], channels)
    return data, [kernel, bias], scales.astype(np.float32).tolist()


# Blocks of one, two and four vectors, whole and not.
@pytest.mark.parametrize(
    ("channels", "out_dtype", "addend_dtype", "target"),
    [
        (1, "int8", "int8", AVX2),
        (7, "uint8", "uint8", AVX2),
        (16, "int8", "uint8", AVX2),
        (23, "uint8", "int8", AVX2),
        (32, "int8", "int8", AVX2),
        (32, "uint8", "uint8", AVX2),
        (45, "int8", "uint8", AVX2),
        (45, "uint8", "int8", AVX2),
        (45, "uint8", "int8", SSE41),
        pytest.param(45, "int8", "uint8", AVX512, marks=marks("cascadelake")),
        pytest.param(80, "uint8", "int8", AVX512, marks=marks("cascadelake")),
        pytest.param(150, "int8", "int8", SKYLAKE, marks=marks("skylake-avx512")),
    ],
)
def test_a_sum_equals_the_reference(
    channels: int, out_dtype: str, addend_dtype: str, target: Any
) -> None:
    rng = np.random.default_rng(channels)
    data, constants, scales = convolution(rng, channels)
    addend = full_range(rng, addend_dtype, (1, 4, 4, channels))
    attrs = {
        **CONV,
        "kernel_scale": scales,
        "output_zero_point": 128 if out_dtype == "uint8" else 0,
        "out_dtype": out_dtype,
        "addend_scale": 0.61,
        "addend_zero_point": 3,
        "relu_before_addend": channels % 2 == 1,
        "out_min": -100 if out_dtype == "int8" else 3,
    }
    call = Call(quantized_conv2d, [data, *constants, addend], attrs)
    check_layer(call, target, 1 if channels == 1 else 51)


def test_a_sum_is_part_of_the_kernel() -> None:
    rng = np.random.default_rng(0)
    data, constants, scales = convolution(rng, 32)
    addend = full_range(rng, "uint8", (1, 4, 4, 32))
    attrs = {**CONV, "kernel_scale": scales, "output_zero_point": 0, "out_dtype": "uint8"}
    for target in (AVX2, AVX512):
        call = Call(quantized_conv2d, [data, *constants, addend], attrs)
        mod = lowered(call, target, quantized_conv2d.tensors[1:3])
        text = mod["main"].script()
        # Beside the kernel, at most the copy that it reads.
        calls = text.count("R.call_tir(")
        assert text.count(" = R.") == calls
        assert calls == 1 + text.count("R.call_tir(stage,") + text.count("R.call_tir(cls.stage,")


@pytest.mark.parametrize(
    ("largest_bias", "scale", "groups"),
    [(1 << 10, 3e7, 1), (1 << 30, 0.001, 1), (1 << 30, 3e7, 9), (1 << 10, 0.001, 9)],
)
@each_target
def test_large_biases_and_products(
    largest_bias: int, scale: float, groups: int, target: Any
) -> None:
    rng = np.random.default_rng(1)
    channels = 18
    data, (kernel, bias), _ = convolution(rng, channels, largest_bias)
    kernel = kernel[..., : 9 // groups]
    attrs = {
        **CONV,
        "kernel_scale": scale,
        "output_zero_point": -1,
        "out_dtype": "int8",
        "groups": groups,
    }
    check_layer(Call(quantized_conv2d, [data, kernel, bias], attrs), target)


@each_target
@pytest.mark.parametrize("out_dtype", ["int8", "int32"])
def test_dense_layers(out_dtype: str, target: Any) -> None:
    rng = np.random.default_rng(2)
    data, kernel = full_range(rng, "int8", (3, 70)), full_range(rng, "int8", (37, 70))
    bias = rng.integers(-(2**26), 2**26, 37, dtype=np.int32)
    attrs = {**ATTRS, "kernel_scale": 2.0**-18, "output_zero_point": 0, "out_dtype": out_dtype}
    check_layer(Call(quantized_dense, [data, kernel, bias], attrs), target)


@pytest.mark.parametrize("largest_bias", [3000, 2**28])
@pytest.mark.parametrize("channels", [7, 45, 150])
@each_target
def test_float32_equals_the_reference(target: Any, channels: int, largest_bias: int) -> None:
    rng = np.random.default_rng(channels)
    data, constants, scales = convolution(rng, channels, largest_bias)
    if largest_bias > 2**24:  # so that sums are rounded before they are scaled
        scales = [scale * 2.0**-14 for scale in scales]
    attrs = {**CONV, "rounding": "float32", "kernel_scale": scales, "out_dtype": "uint8"}
    attrs |= {"output_zero_point": 99, "out_min": 3}
    check_layer(Call(quantized_conv2d, [data, *constants], attrs), target)
