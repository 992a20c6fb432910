"""Operators on int16 tensors without weights, all of which LiteRT takes, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.int16 import ACTIVATIONS, UNIT, data, near, symmetric
from tests.support.tflite import Sheet, check_refused

Array = np.ndarray[Any, Any]


def add_pair(sheet: Sheet, code: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = sheet.rng
    scales = [near(rng, 10.0 ** rng.uniform(-5, 0)) for _ in range(2)]
    lhs, rhs = (data(sheet, shape, scale) for shape, scale in zip(shapes, scales, strict=True))
    left, right = (float(scale.scale[0]) for scale in scales)
    spread = left * right * 2e4 if code == "MUL" else max(left, right) * 1.5
    shape = np.broadcast_shapes(*shapes)
    chosen = {} if code == "MUL" else {"pot_scale_int16": False}
    activation = str(rng.choice(ACTIVATIONS))
    result = (shape, "int16", near(rng, spread))
    sheet.operator(code, [lhs, rhs], result, fused_activation_function=activation, **chosen)


@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
def test_pairs(code: str) -> None:
    sheet = Sheet(seed=4)
    for _ in range(8):
        add_pair(sheet, code, ((2, 5, 3, 40), (2, 5, 3, 40)))
        add_pair(sheet, code, ((2, 5, 3, 40), (1, 1, 3, 1)))
    sheet.check_reference()


@pytest.mark.parametrize("code", ["ADD", "SUB"])
def test_powers_of_two_are_shifted(code: str) -> None:
    sheet = Sheet(seed=5)
    for index, exponents in enumerate([(-12, -12), (-15, -12), (-12, -20), (-12, -27)]):
        operands = [data(sheet, (5, 60), symmetric(2.0**exponent)) for exponent in exponents]
        result = ((5, 60), "int16", symmetric(2.0 ** max(exponents)))
        activation = "RELU6" if index == 1 else "NONE"
        sheet.operator(code, operands, result, fused_activation_function=activation)
    sheet.check()


def test_pools() -> None:
    sheet = Sheet(seed=6)
    for index in range(16):
        scale = near(sheet.rng, 1e-3)
        value = data(sheet, (1, 6, 7, 5), scale)
        sheet.operator(
            ("AVERAGE_POOL_2D", "MAX_POOL_2D")[index % 2],
            [value],
            ((1, 3, 7, 5), "int16", scale),
            padding="SAME",
            stride_h=2,
            stride_w=1,
            filter_height=3,
            filter_width=int(sheet.rng.integers(1, 5)),
            fused_activation_function=str(sheet.rng.choice(ACTIVATIONS)),
        )
    sheet.check_reference()


def test_means_and_softmax() -> None:
    sheet = Sheet(seed=7)
    axes = sheet.constant([1, 2])
    for _ in range(10):
        scale = near(sheet.rng, 1e-3)
        value = data(sheet, (2, 5, 6, 20), scale)
        mean = near(sheet.rng, float(scale.scale[0]) / 5)
        sheet.operator("MEAN", [value, axes], ((2, 1, 1, 20), "int16", mean), keep_dims=True)
        logits = near(sheet.rng, 10.0 ** sheet.rng.uniform(-5, -1))
        value = data(sheet, (3, int(sheet.rng.integers(1, 400))), logits)
        shape = sheet.arrays[-1].shape
        beta = float(sheet.rng.choice([1.0, 0.5, 3.0]))
        sheet.operator("SOFTMAX", [value], (shape, "int16", symmetric(UNIT)), beta=beta)
    sheet.check_reference()


def every(sheet: Sheet, scale: Quantization, least: int = -(2**15)) -> int:
    return sheet.input(np.arange(least, 2**15).astype(np.int16), scale)


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
        value = every(sheet, scale, least)
        shape = sheet.arrays[-1].shape
        options = {"alpha": float(sheet.rng.uniform(-0.5, 1.5))} if code == "LEAKY_RELU" else {}
        sheet.operator(code, [value], (shape, "int16", output(sheet.rng, scale)), **options)
    sheet.check_reference()


def test_conversions() -> None:
    sheet = Sheet(seed=9)
    rng = sheet.rng
    for _ in range(6):
        scale = near(rng, 1e-3)
        value = data(sheet, (7, 90), scale)
        step = float(scale.scale[0])
        sheet.operator("DEQUANTIZE", [value], ((7, 90), "float32", None))
        sheet.operator("QUANTIZE", [value], ((7, 90), "int16", near(rng, step)))
        small = Quantization.per_tensor(step * 100, int(rng.integers(-128, 128)))
        sheet.operator("QUANTIZE", [value], ((7, 90), "int8", small))
        sheet.operator("QUANTIZE", [value], ((7, 90), "int32", near(rng, step / 50)))
        byte = sheet.random_input((7, 90), "int8", small)
        sheet.operator("QUANTIZE", [byte], ((7, 90), "int16", scale))
        real = sheet.input(rng.normal(0, step * 2e4, (7, 90)).astype(np.float32))
        sheet.operator("QUANTIZE", [real], ((7, 90), "int16", scale))
    sheet.check()


def test_moved_data() -> None:
    sheet = Sheet(seed=10)
    scale, shape = near(sheet.rng, 1e-3), (1, 4, 6, 8)
    value, other = data(sheet, shape, scale), data(sheet, shape, scale)

    def give(code: str, operands: list[int], result: Sequence[int], **options: Any) -> None:
        sheet.operator(code, operands, (result, "int16", scale), **options)

    sizes = sheet.constant([7, 9])
    for align, half in ((False, False), (True, False), (False, True)):
        how = {"align_corners": align, "half_pixel_centers": half}
        give("RESIZE_BILINEAR", [value, sizes], (1, 7, 9, 8), **how)
        give("RESIZE_NEAREST_NEIGHBOR", [value, sizes], (1, 7, 9, 8), **how)
    widths = sheet.constant([[0, 0], [1, 2], [0, 3], [0, 0]])
    give("PAD", [value, widths], (1, 7, 9, 8))
    fill = sheet.bias(np.array([-77], np.int16), scale)
    give("PADV2", [value, widths, fill], (1, 7, 9, 8))
    give("MIRROR_PAD", [value, widths], (1, 7, 9, 8), mode="REFLECT")
    sheet.operator("CONCATENATION", [value, other], ((1, 4, 6, 16), "int16", scale), axis=3)
    give("MAXIMUM", [value, other], shape)
    give("MINIMUM", [value, other], shape)
    give("REDUCE_MAX", [value, sheet.constant([1])], (1, 6, 8), keep_dims=False)
    give("REDUCE_MIN", [value, sheet.constant([2, 3])], (1, 4), keep_dims=False)
    give("RESHAPE", [value, sheet.constant([4, 48])], (4, 48))
    give("TRANSPOSE", [value, sheet.constant([0, 3, 1, 2])], (1, 8, 4, 6))
    begin, size = sheet.constant([0, 1, 0, 2]), sheet.constant([1, 2, 6, 3])
    give("SLICE", [value, begin, size], (1, 2, 6, 3))
    steps = sheet.constant([1, 2, 1, 1])
    give("STRIDED_SLICE", [value, begin, sheet.constant([1, 4, 6, 8]), steps], (1, 2, 6, 6))
    parts = [((1, 4, 6, 4), "int16", scale)] * 2
    sheet.operator("SPLIT", [sheet.constant(np.int32(3)), value], *parts, num_splits=2)
    give("PACK", [value, other], (1, 2, 4, 6, 8), axis=1, values_count=2)
    give("GATHER", [value, sheet.constant([3, 0, 3])], (1, 3, 6, 8), axis=1)
    give("TILE", [value, sheet.constant([1, 2, 1, 1])], (1, 8, 6, 8))
    give("REVERSE_V2", [value, sheet.constant([1])], shape)
    sheet.check()


def test_comparisons() -> None:
    sheet = Sheet(seed=16)
    scales = near(sheet.rng, 1e-2), near(sheet.rng, 1e-2)
    lhs, rhs = data(sheet, (40, 90), scales[0]), data(sheet, (40, 1), scales[1])
    for code in ("EQUAL", "GREATER", "LESS_EQUAL"):
        sheet.operator(code, [lhs, rhs], ((40, 90), "bool", None))
    sheet.check()


def test_concatenation_does_not_look_at_scales() -> None:
    sheet = Sheet(seed=11)
    operands = [data(sheet, (3, 4), symmetric(scale)) for scale in (0.1, 0.2)]
    sheet.operator("CONCATENATION", operands, ((3, 8), "int16", symmetric(0.3)), axis=1)
    sheet.check()


def test_compiled_operators() -> None:
    sheet = Sheet(seed=12)
    for code in ("ADD", "SUB", "MUL"):
        add_pair(sheet, code, ((2, 5, 3, 4), (2, 5, 3, 4)))
    value = data(sheet, (3, 40), symmetric(1e-3))
    sheet.operator("SOFTMAX", [value], ((3, 40), "int16", symmetric(UNIT)), beta=1.0)
    sheet.operator("LOGISTIC", [value], ((3, 40), "int16", symmetric(UNIT)))
    mean = ((3,), "int16", symmetric(1e-4))
    sheet.operator("MEAN", [value, sheet.constant([1])], mean, keep_dims=False)
    sheet.check()


def _with(code: str, result: Quantization, **options: Any) -> bytes:
    sheet = Sheet()
    value = data(sheet, (3, 4), symmetric(0.1))
    sheet.operator(code, [value], ((3, 4), "int16", result), **options)
    return sheet.model()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_with("TANH", symmetric(0.1)), r"tanh in int16 must have output scale 2\^-15, got 0.1"),
        (_with("RELU", Quantization.per_tensor(0.1, 3)), "output_zero_point must be 0 for int16"),
        (_with("ABS", Quantization.per_tensor(0.1, 3)), "the zero point of tensor 1 .* must be 0"),
        (_with("SOFTMAX", symmetric(0.1), beta=1.0), "int16 must have scale 1/32768"),
    ],
)
def test_encodings_that_do_not_fit(model: bytes, message: str) -> None:
    check_refused(model, message)
