from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, check_refused, random_quantization

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


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("style", ["uint8", "int8", "int8_per_axis"])
def test_convolutions_equal_litert(style: str, depthwise: bool) -> None:
    sheet = Sheet(seed=1)
    for index in range(30):  # LiteRT takes no CONV_2D without a bias
        add_convolution(sheet, style, depthwise, with_bias=not depthwise or index % 5 > 0)
    sheet.check_reference()


@pytest.mark.parametrize("style", ["uint8", "int8_per_axis"])
def test_compiled_convolutions_equal_litert(style: str) -> None:
    sheet = Sheet(seed=2)
    add_convolution(sheet, style, depthwise=False)
    add_convolution(sheet, style, depthwise=True)
    sheet.check()


def _convolution(
    kernel: Quantization, dtype: str = "int8", *, constant: bool = True, bias: str | None = None
) -> bytes:
    sheet = Sheet()
    data = sheet.random_input((1, 4, 4, 2), "int8", Quantization.per_tensor(0.1, 0))
    weights = np.ones((3, 2, 2, 2), dtype)
    operands = [
        data,
        sheet.constant(weights, kernel) if constant else sheet.input(weights, kernel),
    ]
    if bias:
        operands.append(sheet.constant(np.zeros(3, bias)))
    sheet.operator(
        "CONV_2D",
        operands,
        ((1, 3, 3, 3), "int8", Quantization.per_tensor(0.1, 0)),
        padding="VALID",
        stride_h=1,
        stride_w=1,
        dilation_h_factor=1,
        dilation_w_factor=1,
    )
    return sheet.model()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_convolution(Quantization.per_tensor(0.1, 3)), r"int8 kernel whose zero point is not 0"),
        (_convolution(Quantization.per_tensor(0.1, 3), "uint8"), r"int8 data, uint8 weights"),
        (
            _convolution(Quantization(np.full(2, 0.1, np.float32), np.zeros(2, np.int64), 3)),
            r"quantized along axis 0, got axis 3",
        ),
        (
            _convolution(Quantization.per_tensor(0.1, 0), constant=False),
            r"operator 0 CONV_2D \('x1', 'x2', 'y3'\): input 1, tensor 1 'x2', must be constant",
        ),
        (
            _convolution(Quantization.per_tensor(0.1, 0), bias="float32"),
            r"the bias tensor 2 'c3' must be int32, got float32",
        ),
    ],
)
def test_kernels_that_do_not_fit(model: bytes, message: str) -> None:
    check_refused(model, message)


@pytest.mark.parametrize("activation", ["TANH", "SIGN_BIT"])
def test_fused_activations_that_litert_does_not_know_are_none(activation: str) -> None:
    sheet = Sheet()
    quantization = Quantization.per_tensor(0.1, 0)
    data = sheet.random_input((1, 4, 4, 2), "int8", quantization)
    kernel = sheet.constant(np.ones((3, 2, 2, 2), np.int8), quantization)
    sheet.operator(
        "CONV_2D",
        [data, kernel, sheet.constant(np.zeros(3, np.int32), quantization)],
        ((1, 3, 3, 3), "int8", quantization),
        padding="VALID",
        stride_h=1,
        stride_w=1,
        dilation_h_factor=1,
        dilation_w_factor=1,
        fused_activation_function=activation,
    )
    sheet.operator(
        "ADD",
        [data, data],
        ((1, 4, 4, 2), "int8", quantization),
        fused_activation_function=activation,
    )
    sheet.check()


@pytest.mark.parametrize("scale", [-0.01, np.inf, np.nan])
def test_the_scale_of_a_bias_is_not_read(scale: float) -> None:
    sheet = Sheet(seed=8)
    data = sheet.random_input((1, 3, 4, 2), "int8", Quantization.per_tensor(0.1, 3))
    weights = full_range(sheet.rng, "int8", (3, 1, 1, 2))
    odd = Quantization(np.array([scale], np.float32), np.zeros(1, np.int64))
    operands = [
        data,
        sheet.constant(weights, Quantization.per_tensor(0.1, 0)),
        sheet.constant(np.array([5, -700, 100], np.int32), odd),
    ]
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    dilations = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    result = ((1, 3, 4, 3), "int8", Quantization.per_tensor(2.0, 0))
    sheet.operator("CONV_2D", operands, result, **options, **dilations)
    sheet.check()


@pytest.mark.parametrize(("taps", "stride", "fits"), [(4, 1, True), (5, 1, False), (7, 3, True)])
def test_a_kernel_larger_than_the_image(taps: int, stride: int, fits: bool) -> None:
    sheet, encoding = Sheet(seed=9), Quantization.per_tensor(0.1, 0)
    data = sheet.random_input((1, 3, 4, 2), "int8", encoding)
    weights = sheet.constant(full_range(sheet.rng, "int8", (3, taps, 1, 2)), encoding)
    bias = sheet.constant(np.zeros(3, np.int32), Quantization.per_tensor(0.01, 0))
    options = {"padding": "VALID", "stride_h": stride, "stride_w": stride}
    dilations = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    operands, result = [data, weights, bias], ((1,), "int8", encoding)
    sheet.operator("CONV_2D", operands, result, **options, **dilations)
    if fits:
        sheet.check()
    else:
        sheet.check_refused("CONV_2D")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((1, 1, 0, 2), "tensor 0 .* needs height and width"),
        ((1, 0, 9, 2), "tensor 0 .* needs height and width"),
        ((1, 1, 1, 2), "the window spans 2 pixels along the height"),
    ],
)
def test_an_image_without_a_place_for_the_kernel(shape: tuple[int, ...], reason: str) -> None:
    sheet, encoding = Sheet(seed=9), Quantization.per_tensor(0.1, 0)
    data = sheet.random_input(shape, "int8", encoding)
    weights = sheet.constant(full_range(sheet.rng, "int8", (3, 2, 5, 2)), encoding)
    options = {"padding": "VALID", "stride_h": 2, "stride_w": 2}
    dilations = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    result = ((1,), "int8", encoding)
    sheet.operator("CONV_2D", [data, weights], result, **options, **dilations)
    sheet.check_refused(reason)
