"""Scales that are negative or infinite, where LiteRT runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, check_refused

STEP = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
INF = float("inf")


def per_channel(scales: list[float], axis: int) -> Quantization:
    return Quantization(np.array(scales, np.float32), np.zeros(len(scales), np.int64), axis)


def layer(
    code: str,
    scales: tuple[float, list[float], float],
    activation: str = "NONE",
    lowest: int = -127,
) -> Sheet:
    sheet = Sheet(seed=5)
    data = sheet.random_input((2, 5, 4, 4), "int8", Quantization.per_tensor(scales[0], 3))
    channels = len(scales[1])
    shape, axis = {
        "CONV_2D": ((channels, 3, 3, 4), 0),
        "DEPTHWISE_CONV_2D": ((1, 3, 3, channels), 3),
        "FULLY_CONNECTED": ((channels, 4), 0),
    }[code]
    weights = np.maximum(full_range(sheet.rng, "int8", shape), lowest)
    weights.flat[-1] = lowest
    operands = [data, sheet.constant(weights, per_channel(scales[1], axis))]
    operands.append(sheet.bias(sheet.rng.integers(-4000, 4000, channels).astype(np.int32)))
    options: dict[str, Any] = {"fused_activation_function": activation}
    result: Any = (40, channels)
    if code != "FULLY_CONNECTED":
        options |= {**STEP, "padding": "SAME"}
        result = (2, 5, 4, channels)
    if code == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    result = (result, "int8", Quantization.per_tensor(scales[2], -5))
    sheet.operator(code, operands, result, **options)
    return sheet


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
@pytest.mark.parametrize("code", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
@pytest.mark.parametrize(
    "scales",
    [
        (0.05, [0.02, -0.02, -0.001, 0.5], 0.3),
        (0.05, [0.02, -0.02, 0.001, 0.5], -0.3),
        (0.05, [0.02, INF, -INF, 0.5], 0.3),
        (0.05, [0.02, -0.02, 0.001, 0.5], INF),
        (INF, [0.02, -0.02, 0.001, 0.5], 0.3),
    ],
)
def test_layers_equal_litert(
    code: str, scales: tuple[float, list[float], float], activation: str
) -> None:
    sheet = layer(code, scales, activation)
    if code == "FULLY_CONNECTED" and np.isinf([scales[0], *scales[1]]).any():
        # LiteRT's sums leave their range.
        sheet.check_refused("product is infinite")
        return
    sheet.check()


@pytest.mark.parametrize("scale", [-0.5, INF])
def test_what_reads_no_scale_equals_litert(scale: float) -> None:
    sheet = Sheet(seed=6)
    encoding = Quantization.per_tensor(scale, 3)
    data = sheet.random_input((1, 4, 6, 2), "int8", encoding)
    window = {"padding": "VALID", "stride_h": 2, "stride_w": 2}
    window |= {"filter_width": 2, "filter_height": 2}
    for code in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        sheet.operator(code, [data], ((1, 2, 3, 2), "int8", encoding), **window)
    shape = sheet.constant([1, 48])
    sheet.operator("RESHAPE", [data, shape], ((1, 48), "int8", encoding))
    pads = sheet.constant([[0, 0], [1, 2], [0, 1], [0, 0]])
    sheet.operator("PAD", [data, pads], ((1, 7, 7, 2), "int8", encoding))
    sheet.operator(
        "TRANSPOSE", [data, sheet.constant([0, 2, 1, 3])], ((1, 6, 4, 2), "int8", encoding)
    )
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_operands_of_negative_scales_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=7)
    low = int(np.iinfo(dtype).min)
    data = sheet.random_input((2, 5, 9), dtype, Quantization.per_tensor(-0.05, low + 130))
    other = sheet.random_input((2, 5, 9), dtype, Quantization.per_tensor(-0.03, low + 7))
    third = sheet.random_input((2, 5, 9), dtype, Quantization.per_tensor(0.04, low + 100))
    result = ((2, 5, 9), dtype, Quantization.per_tensor(0.1, low + 90))
    sheet.operator("DEQUANTIZE", [data], ((2, 5, 9), "float32", None))
    sheet.operator("QUANTIZE", [data], result)
    sheet.operator("LOGISTIC", [data], ((2, 5, 9), dtype, Quantization.per_tensor(1 / 256, low)))
    sheet.operator("TANH", [data], ((2, 5, 9), dtype, Quantization.per_tensor(1 / 128, low + 128)))
    for operands in ([data, other], [data, third], [third, other]):
        sheet.operator("MUL", operands, result)
    mean = ((2, 1, 9), dtype, Quantization.per_tensor(0.02, low + 90))
    sheet.operator("MEAN", [data, sheet.constant([1])], mean, keep_dims=True)
    sheet.check()


def test_what_is_refused() -> None:
    scales = (0.05, [0.02, -0.02], 0.3)
    model = layer("CONV_2D", scales, lowest=-128).model()
    check_refused(model, "has -128 in a channel of a negative scale")
    check_refused(
        layer("CONV_2D", (*scales[:2], -0.3), "RELU6").model(),
        r"RELU6 of tensor 3 'y4' of the scale -0\.3",
    )
    sheet = Sheet()
    data = sheet.random_input((1, 4), "int8", Quantization.per_tensor(-0.5, 3))
    sheet.operator("ADD", [data, data], ((1, 4), "int8", Quantization.per_tensor(0.5, 3)))
    sheet.check_refused(r"operator 0 ADD .*has the scale -0.5, needs a positive")


ANY = (1,)
WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_plain_integers_equal_litert(dtype: str) -> None:
    sheet, result = Sheet(seed=31), (ANY, dtype, None)
    data = sheet.input(full_range(sheet.rng, dtype, (1, 4, 4, 2)))
    other = sheet.input(full_range(sheet.rng, dtype, (1, 4, 4, 2)))
    for code in ("MAXIMUM", "MINIMUM"):
        sheet.operator(code, [data, other], result)
    for code in ("REDUCE_MAX", "REDUCE_MIN"):
        sheet.operator(code, [data, sheet.constant([1])], result)
    for code in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        sheet.operator(code, [data, sheet.constant([3, 7])], result)
    for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        sheet.operator(code, [data], result, **WINDOW)
    sheet.operator("CONCATENATION", [data, other, data], result, axis=3)
    widths = sheet.constant([[0, 0], [1, 0], [0, 2], [0, 0]])
    sheet.operator("PAD", [data, widths], result)
    sheet.operator("PADV2", [data, widths, sheet.constant(np.array(9, dtype))], result)
    sheet.check()


def test_signs_of_integers_need_no_scale() -> None:
    sheet = Sheet(seed=32)
    words = sheet.input(full_range(sheet.rng, "int16", (3, 5)))
    numbers = sheet.input(full_range(sheet.rng, "int8", (3, 5)))
    sheet.operator("ABS", [words], (ANY, "int16", None))
    sheet.operator("NEG", [words], (ANY, "int16", None))
    sheet.operator("NEG", [numbers], (ANY, "int8", None))
    sheet.check()


def test_scales_are_stated_of_all_tensors_or_of_none() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2, 3), np.int8))
    sheet.operator("MAXIMUM", [data, data], (ANY, "int8", Quantization.per_tensor(1.0, 0)))
    sheet.check_refused("'x1' is int8 but the file states no scale")


def test_activations_need_a_scale() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((1, 4, 4, 2), np.int8))
    options = {**WINDOW, "fused_activation_function": "RELU6"}
    sheet.operator("MAX_POOL_2D", [data], (ANY, "int8", None), **options)
    sheet.check_refused("'x1' is int8 but the file states no scale")
