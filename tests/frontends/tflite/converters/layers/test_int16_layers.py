"""Layers of int16 data and int8 weights, all of which LiteRT takes, against LiteRT."""

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.int16 import bias, data, near, symmetric, weights
from tests.support.tflite import ANY, Sheet, fixed, given, one, refused, x


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_sums_of_32_bits_wrap(dtype: str) -> None:
    sheet, values = Sheet(seed=3), np.full((1, 1, 1, 600), -32768)
    result, stated = (ANY, "int16", symmetric(1.0)), {"quantized_bias_type": dtype}
    bias, rows = fixed([0, 2**31 - 1], dtype), np.full((2, 600), -127)
    point = Quantization.per_tensor(0.01, 5)
    for code, shape, encoding in (
        ("CONV_2D", (1, 1, 600), symmetric(0.01)),
        ("FULLY_CONNECTED", (600,), symmetric(0.01)),
        ("FULLY_CONNECTED", (600,), point),
    ):
        data = given(values.reshape(1, *shape), "int16", symmetric(1e-3))
        weights = fixed(rows.reshape(2, *shape), "int8", encoding)
        sheet.add(code, data, weights, bias, gives=result, **stated)
    sheet.check_reference()
    sheet.check()


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
