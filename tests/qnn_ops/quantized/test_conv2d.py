from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from qnn_ops import quantized_conv2d
from qnn_ops.dialect.layouts import permutation
from tests.differential.layers import convolution, depthwise
from tests.support.cases import convolutions
from tests.support.encodings import encodings
from tests.support.errors import failing
from tests.support.litert import sharp_layers, weighted
from tests.support.operators import module_of
from tests.support.steps import referred

PLAIN = encodings(
    input=(0.05, 3),
    kernel=(0.01, 0),
    output=(0.1, -5),
    out_dtype="int8",
    data_layout="NHWC",
    kernel_layout="OHWI",
)


@given(convolutions())
@settings(max_examples=40, deadline=None)
def test_reference_equals_the_sum_written_out(case: tuple[list[Any], dict[str, Any]]) -> None:
    (data, kernel, bias, *_), attrs = case
    attrs["out_dtype"], attrs["output_zero_point"] = "int32", 0
    attrs["rounding"] = "tflite"  # what sums have nothing to do with
    attrs["out_min"] = attrs["out_max"] = None
    result = quantized_conv2d.evaluate(data, kernel, bias=bias, **attrs)
    nhwc = data.transpose(permutation(attrs["data_layout"], "NHWC")).astype(int)
    ohwi = kernel.transpose(permutation(attrs["kernel_layout"], "OHWI")).astype(int)
    out = result.transpose(permutation(attrs["out_layout"], "NHWC"))
    batch, row, column, channel = (size - 1 for size in out.shape)
    per_group = ohwi.shape[3]
    first = channel // (ohwi.shape[0] // attrs["groups"]) * per_group
    zero_point = np.broadcast_to(attrs["kernel_zero_point"], ohwi.shape[0])[channel]
    total = 0 if bias is None else int(bias[channel])
    for tap_row in range(ohwi.shape[1]):
        for tap_column in range(ohwi.shape[2]):
            y = row * attrs["strides"][0] + tap_row * attrs["dilation"][0] - attrs["padding"][0]
            x = column * attrs["strides"][1] + tap_column * attrs["dilation"][1]
            x -= attrs["padding"][1]
            if 0 <= y < nhwc.shape[1] and 0 <= x < nhwc.shape[2]:
                for inner in range(per_group):
                    total += (nhwc[batch, y, x, first + inner] - attrs["input_zero_point"]) * (
                        ohwi[channel, tap_row, tap_column, inner] - zero_point
                    )
    assert out[batch, row, column, channel] == total


test_equals_litert = referred(convolution, depthwise)


@pytest.mark.parametrize(("dtype", "count"), [("uint8", 1), ("int8", 1), ("int8", 200)])
@pytest.mark.parametrize("kernel_layout", ["OHWI", "IHWO"])
def test_equals_litert_where_the_multiplier_decides(
    kernel_layout: str, dtype: str, count: int
) -> None:
    axis = kernel_layout.index("O")
    code, options = ("DEPTHWISE_CONV_2D", {"depth_multiplier": 200}) if axis else ("CONV_2D", {})
    for attrs, bias in sharp_layers(dtype, count, (-9, -5)):
        data = np.full((1, 1, 1, 1), attrs["input_zero_point"], dtype)
        kernel = np.ones([200 if letter == "O" else 1 for letter in kernel_layout], dtype)
        attrs |= {"data_layout": "NHWC", "kernel_layout": kernel_layout}
        actual = quantized_conv2d.evaluate(data, kernel, bias=bias, **attrs)
        expected = weighted(code, data, kernel, bias, attrs, axis, **options)
        np.testing.assert_array_equal(actual, expected)


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(
        quantized_conv2d,
        [np.zeros((1, 5, 5, 4), np.int8), np.zeros((6, 3, 3, 2), np.int8)],
        **{**PLAIN, "groups": 2, **change},
    ),
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
    ({"strides": 0}, "stride and dilation must be at least 1"),
    ({"groups": 1.5}, "groups must be an integer, got 1.5"),
    ({"input_scale": 1e30, "output_scale": 1e-8}, "the scales do not go together"),
    ({"padding": -1}, "padding at least 0"),
    ({"dilation": 3}, "the window spans 7 pixels along the height, the padded data has 5"),
    ({"out_min": 3, "out_max": 2}, "out_min and out_max must be ordered"),
)


test_operands_that_do_not_fit_are_named = failing(
    lambda operands: module_of(quantized_conv2d, operands, **PLAIN),
    ([np.zeros((1, 5, 5, 4), np.float32), np.zeros((6, 3, 3, 4), np.int8)], "quantized_data"),
    ([np.zeros((5, 5, 4), np.int8), np.zeros((6, 3, 3, 4), np.int8)], "4 dimensions"),
    ([np.zeros((1, 5, 5, 4), np.int8), np.zeros((6, 0, 3, 4), np.int8)], "got window 0"),
    ([np.zeros((1, 5, 5, 4), np.int8), np.zeros((0, 3, 3, 4), np.int8)], "no output channels"),
    (
        [np.zeros((1, 5, 5, 4), np.int8), np.zeros((6, 3, 3, 4), np.int8), np.zeros(5, "int32")],
        r"bias must have shape \(6,\), got \(5,\)",
    ),
    (
        [np.zeros((1, 5, 5, 4), np.int8), np.zeros((6, 3, 3, 4), np.int8), np.zeros(6, "int64")],
        "bias must be int32, got int64",
    ),
)
