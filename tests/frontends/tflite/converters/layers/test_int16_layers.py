"""Layers of int16 data and int8 weights, all of which LiteRT takes, against LiteRT."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.int16 import ACTIVATIONS, bias, data, near, symmetric, weights
from tests.support.tflite import ANY, Sheet, fixed, given, one, refused, x


def add_convolution(sheet: Sheet, depthwise: bool, bias_dtype: str) -> None:
    rng = sheet.rng
    depth, groups = int(rng.integers(1, 5)), 1
    window = [int(size) for size in rng.integers(1, 4, 2)]
    stride = [int(step) for step in rng.integers(1, 3, 2)]
    channels = depth * int(rng.integers(1, 3)) if depthwise else int(rng.integers(1, 7))
    if not depthwise and rng.random() < 0.3:
        groups, depth, channels = 2, 2 * depth, 2 * channels
    shape = (1, *window, channels) if depthwise else (channels, *window, depth // groups)
    kernel, scales = weights(rng, shape, 3 if depthwise else 0, bool(rng.random() < 0.7))
    scale = near(rng, 1e-3)
    operands = [data(rng, (2, 7, 8, depth), scale), kernel]
    if not depthwise or rng.random() < 0.7:
        operands.append(bias(rng, channels, bias_dtype))
    taps = window[0] * window[1] * (1 if depthwise else depth // groups)
    spread = float(scale.scale[0]) * float(scales.mean()) * 70 * np.sqrt(taps)
    options: dict[str, Any] = {"depth_multiplier": channels // depth} if depthwise else {}
    if bias_dtype == "int32":
        options["quantized_bias_type"] = "int32"
    sheet.add(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        *operands,
        gives=(ANY, "int16", near(rng, spread)),
        padding="SAME",
        stride_h=stride[0],
        stride_w=stride[1],
        fused_activation_function=str(rng.choice(ACTIVATIONS)),
        **options,
    )


@pytest.mark.parametrize(
    ("depthwise", "dtype"), [(False, "int64"), (False, "int32"), (True, "int64")]
)
def test_convolutions(depthwise: bool, dtype: str) -> None:
    sheet = Sheet(seed=1)
    for _ in range(25):
        add_convolution(sheet, depthwise, dtype)
    sheet.check_reference()


def add_dense(sheet: Sheet, dtype: str, *, per_axis: bool, point: int = 0) -> None:
    rng, depth, units = sheet.rng, int(sheet.rng.integers(1, 80)), int(sheet.rng.integers(2, 9))
    scale = near(rng, 1e-3)
    if per_axis:
        kernel, scales = weights(rng, (units, depth), 0, True)
    else:
        scales = np.array([0.01], np.float32)
        array = full_range(rng, "int8", (units, depth))
        kernel = fixed(array, "int8", Quantization.per_tensor(0.01, point))
    operands = [data(rng, (3, depth), scale), kernel]
    if rng.random() < 0.7:
        operands.append(bias(rng, units, dtype))
    spread = float(scale.scale[0]) * float(scales.mean()) * 70 * np.sqrt(depth)
    stated = {"quantized_bias_type": "int32"} if dtype == "int32" else {}
    stated["fused_activation_function"] = str(rng.choice(ACTIVATIONS))
    result = (ANY, "int16", near(rng, spread))
    sheet.add("FULLY_CONNECTED", *operands, gives=result, **stated)


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_dense_layers(dtype: str) -> None:
    sheet = Sheet(seed=2)
    for index in range(24):
        add_dense(sheet, dtype, per_axis=index % 2 == 0, point=index - 12)
    sheet.check_reference()


def test_sums_of_32_bits_wrap() -> None:
    sheet, values = Sheet(seed=3), np.full((1, 1, 1, 600), -32768)
    result, stated = (ANY, "int16", symmetric(1.0)), {"quantized_bias_type": "int32"}
    bias = fixed([0, 2**31 - 1], "int32")
    for code, shape in (("CONV_2D", (1, 1, 600)), ("FULLY_CONNECTED", (600,))):
        data = given(values.reshape(1, *shape), "int16", symmetric(1e-3))
        weights = fixed(np.full((2, *shape), -127), "int8", symmetric(0.01))
        sheet.add(code, data, weights, bias, gives=result, **stated)
    sheet.check_reference()


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_transposed_convolutions(dtype: str) -> None:
    sheet = Sheet(seed=14)
    for index in range(4):
        scale = near(sheet.rng, 1e-3)
        kernel, _ = weights(sheet.rng, (3, 3, 2, 5), 0, True)
        operands = [fixed([1, 8, 10, 3], "int32"), kernel, data(sheet.rng, (1, 4, 5, 5), scale)]
        if index % 2:
            operands.append(bias(sheet.rng, 3, dtype))
        result = (ANY, "int16", near(sheet.rng, float(scale.scale[0]) * 3))
        window = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
        stated = {"quantized_bias_type": "int32"} if dtype == "int32" else {}
        sheet.add("TRANSPOSE_CONV", *operands, gives=result, **window, **stated)
    sheet.check()


def test_products_of_matrices() -> None:
    sheet = Sheet(seed=15)
    rng = sheet.rng
    for adj_x, adj_y, is_constant in (
        (False, False, False),
        (True, True, False),
        (False, True, True),
    ):
        scales = near(rng, 1e-3), near(rng, 1e-2)
        lhs = data(rng, (2, 30, 4) if adj_x else (2, 4, 30), scales[0])
        shape = (5, 30) if adj_y else (2, 30, 5)
        rhs = data(rng, shape, scales[1])
        if is_constant:
            rhs = fixed(full_range(rng, "int8", shape), "int8", scales[1])
        step = float(scales[0].scale[0] * scales[1].scale[0])
        result = (ANY, "int16", near(rng, step * (500 if is_constant else 1e5)))
        sheet.add("BATCH_MATMUL", lhs, rhs, gives=result, adj_x=adj_x, adj_y=adj_y)
    tenth = symmetric(0.1)
    none = data(rng, (4, 0), tenth)
    for lhs, rhs in (
        (data(rng, (0, 4), tenth), fixed(np.ones((4, 3)), "int8", tenth)),
        (none, fixed(np.zeros((0, 3)), "int8", tenth)),
        (none, data(rng, (0, 3), tenth)),
    ):
        sheet.add("BATCH_MATMUL", lhs, rhs)
    sheet.check()


def test_compiled_layers() -> None:
    sheet = Sheet(seed=12)
    for dtype in ("int64", "int32"):
        add_convolution(sheet, False, dtype)
        add_dense(sheet, dtype, per_axis=True)
    add_convolution(sheet, True, "int64")
    sheet.check()


def test_weights_of_4_bits_that_litert_does_not_unpack() -> None:
    sheet, tenth = Sheet(seed=17), symmetric(0.1)
    kernel = sheet.packed(np.ones((1, 1, 1, 2), np.int8), "int4", tenth)
    operands = [sheet.random_input((1, 3, 3, 2), "int16", tenth), kernel]
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    sheet.operator("DEPTHWISE_CONV_2D", operands, (ANY, "int16", tenth), **window)
    sheet.check_refused("int4 weights beside int16 data", UnsupportedOperatorError)


test_a_bias_that_the_options_do_not_state = refused(
    (
        "the bias tensor 2 'c3' must be int64, got int32",
        one(
            "FULLY_CONNECTED",
            x(3, 4, dtype="int16", encoding=symmetric(0.1)),
            fixed(np.ones((5, 4)), "int8", symmetric(0.1)),
            fixed([0] * 5, "int32"),
        ),
    )
)
