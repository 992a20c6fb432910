"""Operators and layers of int16 data, all of which LiteRT takes, against LiteRT."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.int16 import UNIT, bias, data, near, symmetric, weights
from tests.support.tflite import ANY, Sheet, fixed, given, one, refused, x


@pytest.mark.parametrize("code", ["ADD", "SUB"])
def test_powers_of_two_are_shifted(code: str) -> None:
    sheet = Sheet(seed=5)
    for index, exponents in enumerate([(-12, -12), (-15, -12), (-12, -20), (-12, -27)]):
        operands = [data(sheet.rng, (5, 60), symmetric(2.0**exponent)) for exponent in exponents]
        result = (ANY, "int16", symmetric(2.0 ** max(exponents)))
        activation = "RELU6" if index == 1 else "NONE"
        sheet.add(code, *operands, gives=result, fused_activation_function=activation)
    sheet.check()


@pytest.mark.parametrize(
    ("code", "least", "output"),
    [
        ("LOGISTIC", -(2**15), lambda _rng, _scale: symmetric(UNIT)),
        ("TANH", -(2**15), lambda _rng, _scale: symmetric(UNIT)),
        ("EXP", -(2**15), lambda rng, _scale: near(rng, 1e-3)),
        ("GELU", -(2**15), lambda rng, scale: near(rng, float(scale.scale[0]))),
        ("LOG", -(2**15), lambda rng, _scale: near(rng, 1e-3)),
        (
            "ABS",
            -(2**15),
            lambda rng, scale: scale if rng.random() < 0.3 else near(rng, scale.scale[0]),
        ),
        ("NEG", -(2**15), lambda rng, scale: near(rng, float(scale.scale[0]))),
        ("RSQRT", 0, lambda rng, scale: near(rng, float(scale.scale[0]) ** -0.5 / 2**15)),
        ("SQRT", 0, lambda rng, scale: near(rng, (float(scale.scale[0]) / 2**15) ** 0.5)),
        ("LEAKY_RELU", -(2**15), lambda rng, scale: near(rng, float(scale.scale[0]))),
        ("RELU", -(2**15), lambda rng, scale: near(rng, float(scale.scale[0]))),
        ("RELU6", -(2**15), lambda rng, scale: scale),
    ],
)
def test_functions_of_every_value(
    code: str, least: int, output: Callable[[np.random.Generator, Quantization], Quantization]
) -> None:
    sheet = Sheet(seed=8)
    scales = [symmetric(2.0**exponent) for exponent in (-11, -12, -13)]
    scales += [near(sheet.rng, 10.0 ** sheet.rng.uniform(-6, -1)) for _ in range(12)]
    for scale in scales:
        value = given(np.arange(least, 2**15), "int16", scale)
        options = {"alpha": float(sheet.rng.uniform(-0.5, 1.5))} if code == "LEAKY_RELU" else {}
        sheet.add(code, value, gives=(ANY, "int16", output(sheet.rng, scale)), **options)
    sheet.check_reference()


def test_conversions() -> None:
    sheet = Sheet(seed=9)
    rng = sheet.rng
    for _ in range(6):
        scale = near(rng, 1e-3)
        value, step = data(rng, (7, 90), scale), float(scale.scale[0])
        small = Quantization.per_tensor(step * 100, int(rng.integers(-128, 128)))
        real = given(rng.normal(0, step * 2e4, (7, 90)), "float32")
        sheet.add("DEQUANTIZE", value, gives="float32")
        for source, dtype, encoding in (
            (value, "int16", near(rng, step)),
            (value, "int8", small),
            (value, "int32", near(rng, step / 50)),
            (x(7, 90, encoding=small), "int16", scale),
            (real, "int16", scale),
        ):
            sheet.add("QUANTIZE", source, gives=(ANY, dtype, encoding))
    sheet.check()


def test_moved_data() -> None:
    sheet = Sheet(seed=10)
    scale = near(sheet.rng, 1e-3)
    value, other = (x(1, 4, 6, 8, dtype="int16", encoding=scale) for _ in range(2))
    for align, half in ((False, False), (True, False), (False, True)):
        how = {"align_corners": align, "half_pixel_centers": half}
        sheet.add("RESIZE_BILINEAR", value, [7, 9], **how)
        sheet.add("RESIZE_NEAREST_NEIGHBOR", value, [7, 9], **how)
    widths = [[0, 0], [1, 2], [0, 3], [0, 0]]
    sheet.add("PAD", value, widths)
    sheet.add("PADV2", value, widths, fixed([-77], "int16", scale))
    sheet.add("MIRROR_PAD", value, widths, mode="REFLECT")
    sheet.add("CONCATENATION", value, other, axis=3)
    sheet.add("MAXIMUM", value, other)
    sheet.add("MINIMUM", value, other)
    sheet.add("REDUCE_MAX", value, [1], keep_dims=False)
    sheet.add("REDUCE_MIN", value, [2, 3], keep_dims=False)
    sheet.add("RESHAPE", value, [4, 48])
    sheet.add("TRANSPOSE", value, [0, 3, 1, 2])
    begin, result = [0, 1, 0, 2], ((1, 2, 6, 3), "int16", scale)
    sheet.add("SLICE", value, begin, [1, 2, 6, 3], gives=result)
    sheet.add("STRIDED_SLICE", value, begin, [1, 4, 6, 8], [1, 2, 1, 1])
    sheet.add("SPLIT", 3, value, gives=[(ANY, "int16", scale)] * 2, num_splits=2)
    sheet.add("PACK", value, other, axis=1, values_count=2)
    sheet.add("GATHER", value, [3, 0, 3], axis=1)
    sheet.add("TILE", value, [1, 2, 1, 1])
    sheet.add("REVERSE_V2", value, [1])
    sheet.check()


def test_comparisons_and_concatenations() -> None:
    sheet = Sheet(seed=16)
    scales = near(sheet.rng, 1e-2), near(sheet.rng, 1e-2)
    lhs, rhs = data(sheet.rng, (40, 90), scales[0]), data(sheet.rng, (40, 1), scales[1])
    for code in ("EQUAL", "GREATER", "LESS_EQUAL"):
        sheet.add(code, lhs, rhs, gives="bool")
    sheet.check()
    parts = [x(3, 4, dtype="int16", encoding=symmetric(scale)) for scale in (0.1, 0.2)]
    one("CONCATENATION", *parts, **_gives(0.3), axis=1).check()


def _gives(scale: float, point: int = 0) -> dict[str, Any]:
    return {"gives": (ANY, "int16", Quantization.per_tensor(scale, point))}


_WORDS = x(3, 4, dtype="int16", encoding=symmetric(0.1))


test_encodings_that_do_not_fit = refused(
    (r"tanh in int16 must have output scale 2\^-15, got 0.1", one("TANH", _WORDS)),
    ("output_zero_point must be 0 for int16", one("RELU", _WORDS, **_gives(0.1, 3))),
    ("the zero point of tensor 1 .* must be 0", one("ABS", _WORDS, **_gives(0.1, 3))),
    ("int16 must have scale 1/32768", one("SOFTMAX", _WORDS, beta=1.0)),
)


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
def test_layers_with_a_bias(dtype: str) -> None:
    sheet = Sheet(seed=13)
    rng = sheet.rng
    for code, shape, sizes in (
        ("CONV_2D", (2, 5, 6, 4), (7, 3, 2, 4)),
        ("FULLY_CONNECTED", (3, 40), (9, 40)),
    ):
        scale = near(rng, 1e-3)
        kernel, _ = weights(rng, sizes, 0, True)
        operands = [data(rng, shape, scale), kernel, bias(rng, sizes[0], dtype)]
        result = (ANY, "int16", near(rng, float(scale.scale[0]) * 3))
        sheet.add(code, *operands, gives=result, quantized_bias_type=dtype)
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
