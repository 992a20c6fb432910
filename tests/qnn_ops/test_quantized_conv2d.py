from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from qnn_ops import QnnError, quantized_conv2d
from qnn_ops.arithmetic import (
    conv_multiplier,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from qnn_ops.layouts import permutation
from tests.support.cases.quantized_conv2d import convolutions
from tests.support.operators import check_round_trips, module_of

PLAIN: dict[str, Any] = {
    "input_scale": 0.05,
    "input_zero_point": 3,
    "kernel_scale": 0.01,
    "kernel_zero_point": 0,
    "output_scale": 0.1,
    "output_zero_point": -5,
    "out_dtype": "int8",
    "data_layout": "NHWC",
    "kernel_layout": "OHWI",
}


def test_one_window_by_hand() -> None:
    data = np.array([[[[1], [2]], [[3], [4]]]], np.int8)
    kernel = np.array([[[[5], [6]], [[7], [8]]]], np.int8)
    result = quantized_conv2d.evaluate(
        data, kernel, 1.0, 1, 1.0, 0, 2.0, 10, "int8", data_layout="NHWC", kernel_layout="OHWI"
    )
    # 0*5 + 1*6 + 2*7 + 3*8 = 44, halved, plus the zero point.
    np.testing.assert_array_equal(result, np.array([[[[32]]]], np.int8))


@given(convolutions())
@settings(max_examples=40, deadline=None)
def test_reference_equals_the_sum_written_out(case: tuple[list[Any], dict[str, Any]]) -> None:
    (data, kernel, bias), attrs = case
    attrs["out_dtype"], attrs["output_zero_point"] = "int32", 0
    result = quantized_conv2d.evaluate(data, kernel, bias=bias, **attrs)
    nhwc = data.transpose(permutation(attrs["data_layout"], "NHWC")).astype(int)
    ohwi = kernel.transpose(permutation(attrs["kernel_layout"], "OHWI")).astype(int)
    out = result.transpose(permutation(attrs["out_layout"], "NHWC"))
    batch, row, column, channel = (size - 1 for size in out.shape)
    per_group = ohwi.shape[3]
    first = channel // (ohwi.shape[0] // attrs["groups"]) * per_group
    total = 0 if bias is None else int(bias[channel])
    for tap_row in range(ohwi.shape[1]):
        for tap_column in range(ohwi.shape[2]):
            y = row * attrs["strides"][0] + tap_row * attrs["dilation"][0] - attrs["padding"][0]
            x = column * attrs["strides"][1] + tap_column * attrs["dilation"][1]
            x -= attrs["padding"][1]
            if 0 <= y < nhwc.shape[1] and 0 <= x < nhwc.shape[2]:
                for inner in range(per_group):
                    total += (nhwc[batch, y, x, first + inner] - attrs["input_zero_point"]) * (
                        ohwi[channel, tap_row, tap_column, inner] - attrs["kernel_zero_point"]
                    )
    assert out[batch, row, column, channel] == total


def test_scale_product_is_rounded_to_float32_for_uint8_kernels_only() -> None:
    # Scales whose product is not a float32 number.
    data, kernel, output = (float(np.float32(scale)) for scale in (0.1, 0.3, 0.7))
    exact = data * kernel / output
    rounded = float(np.float32(data) * np.float32(kernel)) / output
    assert exact != rounded
    assert conv_multiplier(data, kernel, output, "int8") == exact
    assert conv_multiplier(data, kernel, output, "uint8") == rounded


def test_clamp_is_applied_after_the_zero_point() -> None:
    data = np.arange(-8, 8, dtype=np.int8).reshape(1, 4, 4, 1)
    kernel = np.ones((1, 1, 1, 1), np.int8)
    attrs = {**PLAIN, "input_zero_point": 0, "kernel_scale": 2.0, "output_zero_point": 4}
    result = quantized_conv2d.evaluate(data, kernel, **attrs, out_min=4, out_max=7)
    scaled = multiply_by_quantized_multiplier(
        data.astype(np.int32), *quantize_multiplier(conv_multiplier(0.05, 2.0, 0.1, "int8"))
    )
    np.testing.assert_array_equal(result, np.clip(scaled + 4, 4, 7).astype(np.int8))
    assert set(np.unique(result)) == {4, 5, 6, 7}


def test_round_trips() -> None:
    data, kernel = np.zeros((1, 5, 5, 4), np.int8), np.zeros((6, 3, 3, 2), np.int8)
    bias = np.zeros(6, np.int32)
    attrs = {**PLAIN, "kernel_scale": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "groups": 2}
    check_round_trips(quantized_conv2d, [data, kernel, bias], **attrs)
    check_round_trips(quantized_conv2d, [data, kernel], **attrs, channels=6, kernel_size=(3, 3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": 3}, "groups must divide the 4 input and 6 output channels, got 3"),
        ({"groups": 1}, "takes 2 input channels in each of 1 groups"),
        ({"channels": 7}, "channels is 7, the kernel has 6"),
        ({"kernel_size": (3, 4)}, "kernel_size is"),
        ({"kernel_scale": [0.1, 0.2]}, "kernel_scale has 2 values, the channel axis has 6"),
        ({"kernel_scale": 0.0}, "kernel_scale must be positive and finite, got 0.0"),
        ({"input_scale": float("nan")}, "input_scale must be positive and finite, got nan"),
        ({"input_scale": [0.1, 0.2]}, "input_scale must be one value for the whole tensor"),
        ({"input_zero_point": 200}, "input_zero_point must lie within int8, got 200"),
        ({"output_zero_point": -129}, "output_zero_point must lie within int8, got -129"),
        ({"out_dtype": "float32"}, "dtype must be int8, uint8, int16 or int32, got 'float32'"),
        ({"data_layout": "NHCW"}, "data_layout must be one of NHWC, NCHW"),
        ({"kernel_layout": "OWHI"}, "kernel_layout must be one of"),
        ({"rounding": "up"}, "rounding must be one of"),
        ({"strides": 0}, "strides and dilation must be at least 1"),
        ({"padding": -1}, "padding at least 0"),
        ({"dilation": 3}, "the window spans 7 pixels along the height, the padded data has 5"),
        ({"out_min": 3, "out_max": 2}, "out_min and out_max must be ordered"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    data, kernel = np.zeros((1, 5, 5, 4), np.int8), np.zeros((6, 3, 3, 2), np.int8)
    with pytest.raises(QnnError, match=message):
        module_of(quantized_conv2d, [data, kernel], **{**PLAIN, "groups": 2, **change})


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([np.zeros((1, 5, 5, 4), np.float32), np.zeros((6, 3, 3, 4), np.int8)], "quantized_data"),
        ([np.zeros((5, 5, 4), np.int8), np.zeros((6, 3, 3, 4), np.int8)], "4 dimensions"),
        (
            [
                np.zeros((1, 5, 5, 4), np.int8),
                np.zeros((6, 3, 3, 4), np.int8),
                np.zeros(5, "int32"),
            ],
            r"bias must have shape \(6,\), got \(5,\)",
        ),
        (
            [
                np.zeros((1, 5, 5, 4), np.int8),
                np.zeros((6, 3, 3, 4), np.int8),
                np.zeros(6, "int64"),
            ],
            "bias must be int32, got int64",
        ),
    ],
)
def test_operands_that_do_not_fit_are_named(operands: list[Any], message: str) -> None:
    with pytest.raises(QnnError, match=message):
        module_of(quantized_conv2d, operands, **PLAIN)
