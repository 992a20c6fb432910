"""Scales that are negative or infinite, where LiteRT runs them."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import ANY, CONVOLUTION, Q, Sheet, fixed, one, refused, x

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
        options |= {**CONVOLUTION, "padding": "SAME"}
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
def test_layers(code: str, scales: tuple[float, list[float], float], activation: str) -> None:
    sheet = layer(code, scales, activation)
    if code == "FULLY_CONNECTED" and np.isinf([scales[0], *scales[1]]).any():
        # LiteRT's sums leave their range.
        sheet.check_refused("product is infinite")
        return
    sheet.check()


@pytest.mark.parametrize("scale", [-0.5, INF])
def test_what_reads_no_scale_equals_litert(scale: float) -> None:
    sheet, data = Sheet(seed=6), x(1, 4, 6, 2, encoding=Quantization.per_tensor(scale, 3))
    for code in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        sheet.add(code, data, stride_h=2, stride_w=2)
    sheet.add("RESHAPE", data, [1, 48])
    sheet.add("PAD", data, [[0, 0], [1, 2], [0, 1], [0, 0]])
    sheet.add("TRANSPOSE", data, [0, 2, 1, 3])
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_operands_of_negative_scales_equal_litert(dtype: str) -> None:
    low = int(np.iinfo(dtype).min)

    def known(scale: float, point: int) -> Quantization:
        return Quantization.per_tensor(scale, low + point)

    data, other, third = (
        x(2, 5, 9, dtype=dtype, encoding=known(*each))
        for each in ((-0.05, 130), (-0.03, 7), (0.04, 100))
    )
    sheet, result = Sheet(seed=7), (ANY, dtype, known(0.1, 90))
    sheet.add("DEQUANTIZE", data, gives="float32")
    sheet.add("QUANTIZE", data, gives=result)
    sheet.add("LOGISTIC", data, gives=(ANY, dtype, known(1 / 256, 0)))
    sheet.add("TANH", data, gives=(ANY, dtype, known(1 / 128, 128)))
    for operands in ((data, other), (data, third), (third, other)):
        sheet.add("MUL", *operands, gives=result)
    sheet.add("MEAN", data, [1], gives=(ANY, dtype, known(0.02, 90)), keep_dims=True)
    sheet.check()


_NEGATIVE = x(1, 4, encoding=Quantization.per_tensor(-0.5, 3))

test_what_is_refused = refused(
    ("-128 in a channel of a negative", layer("CONV_2D", (0.05, [0.02, -0.02], 0.3), lowest=-128)),
    (r"RELU6 of .*'y4' of the scale -0\.3", layer("CONV_2D", (0.05, [0.02, -0.02], -0.3), "RELU6")),
    (
        r"operator 0 ADD .*has the scale -0.5, needs a positive",
        one("ADD", _NEGATIVE, _NEGATIVE, gives=(ANY, "int8", Q)),
    ),
    (
        "'x1' is int8 but the file states no scale",
        one("MAXIMUM", x(2, 3, encoding=None), x(2, 3, encoding=None), gives=(ANY, "int8", Q)),
    ),
    (
        "'x1' is int8 but the file states no scale",
        one("MAX_POOL_2D", x(1, 4, 4, 2, encoding=None), fused_activation_function="RELU6"),
    ),
)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_plain_integers_equal_litert(dtype: str) -> None:
    sheet, widths = Sheet(seed=31), [[0, 0], [1, 0], [0, 2], [0, 0]]
    data, other = (x(1, 4, 4, 2, dtype=dtype, encoding=None) for _ in range(2))
    for code in ("MAXIMUM", "MINIMUM"):
        sheet.add(code, data, other)
    for code in ("REDUCE_MAX", "REDUCE_MIN"):
        sheet.add(code, data, [1])
    for code in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        sheet.add(code, data, [3, 7])
    for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        sheet.add(code, data)
    sheet.add("CONCATENATION", data, other, data, axis=3)
    sheet.add("PAD", data, widths)
    sheet.add("PADV2", data, widths, fixed(9, dtype))
    sheet.check()


def test_signs_of_integers_need_no_scale() -> None:
    sheet, words = Sheet(seed=32), x(3, 5, dtype="int16")
    sheet.add("ABS", words)
    sheet.add("NEG", words)
    sheet.add("NEG", x(3, 5, encoding=None))
    sheet.check()
