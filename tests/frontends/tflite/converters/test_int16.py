"""Operators on int16 tensors without weights, all of which LiteRT takes, against LiteRT."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.int16 import UNIT, data, near, symmetric
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
