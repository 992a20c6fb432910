from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.both_ways import Check, both_ways
from tests.support.tflite import (
    ANY,
    Operand,
    Q,
    Sheet,
    fixed,
    given,
    one,
    random_quantization,
    refused,
    x,
)

NARROW = Quantization.per_tensor(0.1, 0)
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def _kernel_quantization(
    rng: np.random.Generator, style: str, channels: int, axis: int
) -> Quantization:
    if style == "uint8":
        return random_quantization(rng, "uint8", 0.02)
    count = channels if style == "int8_per_axis" else 1
    scales = rng.uniform(0.005, 0.05, count).astype(np.float32)
    return Quantization(scales, np.zeros(count, np.int64), axis if count > 1 else 0)


def add_convolution(sheet: Sheet, style: str, depthwise: bool, with_bias: bool = True) -> None:
    """Return a random convolution whose sums fill the range of its result."""
    rng = sheet.rng
    dtype = style.split("_")[0]
    window = [int(size) for size in rng.integers(1, 5, 2)]
    stride = [int(step) for step in rng.integers(1, 4, 2)]
    # LiteRT takes no dilation together with strides in older models, and neither do makers.
    dilation = [int(d) for d in rng.integers(1, 3, 2)] if max(stride) == 1 else [1, 1]
    height, width = (int(size) for size in rng.integers(8, 13, 2))
    padding = str(rng.choice(["SAME", "VALID"]))
    groups = int(rng.choice([1, 2]))
    in_channels = groups * int(rng.integers(1, 4))
    if depthwise:
        multiplier = int(rng.integers(1, 4))
        channels = in_channels * multiplier
        shape = (1, *window, channels)
    else:
        channels = groups * int(rng.integers(1, 5))
        shape = (channels, *window, in_channels // groups)
    kernel_quantization = _kernel_quantization(rng, style, channels, 3 if depthwise else 0)
    quantization = random_quantization(rng, dtype)
    data = sheet.random_input((2, height, width, in_channels), dtype, quantization)
    kernel = full_range(rng, dtype, shape)
    if dtype == "int8":
        kernel = np.maximum(kernel, -127)
    operands = [data, sheet.constant(kernel, kernel_quantization)]
    if with_bias:
        biases = rng.integers(-20000, 20000, channels).astype(np.int32)
        bias_scales = quantization.scale * kernel_quantization.scale
        bias_quantization = Quantization(bias_scales, np.zeros(bias_scales.size, np.int64))
        operands.append(sheet.constant(biases, bias_quantization))
    spans = [
        -(-size // step) if padding == "SAME" else (size - (tap - 1) * gap - 1) // step + 1
        for size, step, tap, gap in zip((height, width), stride, window, dilation, strict=True)
    ]
    taps = window[0] * window[1] * (1 if depthwise else in_channels // groups)
    output_scale = 0.05 * 0.03 * 70 * np.sqrt(taps)
    options: dict[str, Any] = {"depth_multiplier": channels // in_channels} if depthwise else {}
    sheet.operator(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        operands,
        ((2, *spans, channels), dtype, random_quantization(rng, dtype, output_scale)),
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        dilation_h_factor=dilation[0],
        dilation_w_factor=dilation[1],
        fused_activation_function=str(rng.choice(ACTIVATIONS)),
        **options,
    )


@both_ways
@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("style", ["uint8", "int8", "int8_per_axis"])
def test_convolutions_equal_litert(style: str, depthwise: bool, check: Check, count: int) -> None:
    sheet = Sheet(seed=1)
    for index in range(count):  # LiteRT takes no CONV_2D without a bias
        add_convolution(sheet, style, depthwise, with_bias=not depthwise or index % 5 > 0)
    check(sheet)


def _kernel(encoding: Quantization = NARROW, dtype: str = "int8", make: Any = fixed) -> Operand:
    operand: Operand = make(np.ones((3, 2, 2, 2)), dtype, encoding)
    return operand


_THIRDS = Quantization(np.full(2, 0.1, np.float32), np.zeros(2, np.int64), 3)
_SMALL, _WIDE = x(1, 4, 4, 2), fixed(np.ones((3, 2, 5, 2)), "int8", NARROW)
_STEPS = {"stride_h": 2, "stride_w": 2}

test_kernels_that_do_not_fit = refused(
    ("int8 kernel whose zero point is not 0", one("CONV_2D", _SMALL, _kernel(Q))),
    ("int8 data, uint8 weights", one("CONV_2D", _SMALL, _kernel(Q, "uint8"))),
    ("quantized along axis 0, got axis 3", one("CONV_2D", _SMALL, _kernel(_THIRDS))),
    (
        r"operator 0 CONV_2D \('x1', 'x2', 'y3'\): input 1, tensor 1 'x2', must be constant",
        one("CONV_2D", _SMALL, _kernel(make=given)),
    ),
    (
        "the bias tensor 2 'c3' must be int32, got float32",
        one("CONV_2D", _SMALL, _kernel(), fixed([0] * 3, "float32")),
    ),
    ("tensor 0 .* needs height and width", one("CONV_2D", x(1, 1, 0, 2), _WIDE, **_STEPS)),
    ("tensor 0 .* needs height and width", one("CONV_2D", x(1, 0, 9, 2), _WIDE, **_STEPS)),
    ("the window spans 2 pixels along the height", one("CONV_2D", x(1, 1, 1, 2), _WIDE, **_STEPS)),
    ("CONV_2D", one("CONV_2D", x(1, 3, 4, 2), fixed(np.ones((3, 5, 1, 2)), "int8", NARROW))),
)


@pytest.mark.parametrize("activation", ["TANH", "SIGN_BIT"])
def test_fused_activations_that_litert_does_not_know_are_none(activation: str) -> None:
    sheet, bias = Sheet(), fixed([0] * 3, "int32", NARROW)
    sheet.add("CONV_2D", _SMALL, _kernel(), bias, fused_activation_function=activation)
    sheet.add("ADD", _SMALL, _SMALL, fused_activation_function=activation)
    sheet.check()


@pytest.mark.parametrize("scale", [-0.01, np.inf, np.nan])
def test_the_scale_of_a_bias_is_not_read(scale: float) -> None:
    sheet = Sheet(seed=8)
    data = x(1, 3, 4, 2, encoding=Quantization.per_tensor(0.1, 3))
    weights = fixed(full_range(sheet.rng, "int8", (3, 1, 1, 2)), "int8", NARROW)
    bias = fixed([5, -700, 100], "int32", Quantization.per_tensor(scale, 0))
    result = (ANY, "int8", Quantization.per_tensor(2.0, 0))
    sheet.add("CONV_2D", data, weights, bias, gives=result, padding="SAME")
    sheet.check()


@pytest.mark.parametrize(("taps", "stride"), [(4, 1), (7, 3)])
def test_a_kernel_larger_than_the_image(taps: int, stride: int) -> None:
    sheet, data = Sheet(seed=9), x(1, 3, 4, 2, encoding=NARROW)
    weights = fixed(full_range(sheet.rng, "int8", (3, taps, 1, 2)), "int8", NARROW)
    bias = fixed([0] * 3, "int32", Quantization.per_tensor(0.01, 0))
    sheet.add("CONV_2D", data, weights, bias, stride_h=stride, stride_w=stride)
    sheet.check()
