"""Operators on int16 tensors, all of which LiteRT takes, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

Array = np.ndarray[Any, Any]

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
UNIT = 2.0**-15


def symmetric(*scales: float, axis: int = 0) -> Quantization:
    """Return scales with zero points of 0: one for the tensor, or one per channel."""
    return Quantization(np.array(scales, np.float32), np.zeros(len(scales), np.int64), axis)


def near(rng: np.random.Generator, scale: float) -> Quantization:
    """Return a scale near the given one, now and then a power of two."""
    chosen = scale * float(rng.uniform(0.5, 2.0))
    return symmetric(float(2.0 ** np.round(np.log2(chosen))) if rng.random() < 0.3 else chosen)


def data(sheet: Sheet, shape: Sequence[int], scale: Quantization) -> int:
    """Add an input, of all int16 or (as those of real networks are) of some of it."""
    array = full_range(sheet.rng, "int16", tuple(shape))
    if sheet.rng.random() < 0.5:
        array = (array >> int(sheet.rng.integers(0, 8))).astype(np.int16)
    return sheet.input(array, scale)


def weights(sheet: Sheet, shape: Sequence[int], axis: int, per_axis: bool) -> tuple[int, Array]:
    rng = sheet.rng
    scales = rng.uniform(0.005, 0.02, shape[axis] if per_axis else 1).astype(np.float32)
    array = np.maximum(full_range(rng, "int8", tuple(shape)), -127)
    return sheet.constant(array, symmetric(*scales, axis=axis)), scales


def bias(sheet: Sheet, count: int, dtype: str) -> int:
    return sheet.bias(sheet.rng.integers(-(2**22), 2**22, count).astype(dtype))


def add_convolution(sheet: Sheet, depthwise: bool, bias_dtype: str) -> None:
    rng = sheet.rng
    height, width, depth, groups = 7, 8, int(rng.integers(1, 5)), 1
    window = [int(size) for size in rng.integers(1, 4, 2)]
    stride = [int(step) for step in rng.integers(1, 3, 2)]
    channels = depth * int(rng.integers(1, 3)) if depthwise else int(rng.integers(1, 7))
    if not depthwise and rng.random() < 0.3:
        groups, depth, channels = 2, 2 * depth, 2 * channels
    shape = (1, *window, channels) if depthwise else (channels, *window, depth // groups)
    kernel, scales = weights(sheet, shape, 3 if depthwise else 0, bool(rng.random() < 0.7))
    scale = near(rng, 1e-3)
    operands = [data(sheet, (2, height, width, depth), scale), kernel]
    if not depthwise or rng.random() < 0.7:
        operands.append(bias(sheet, channels, bias_dtype))
    taps = window[0] * window[1] * (1 if depthwise else depth // groups)
    spread = float(scale.scale[0]) * float(scales.mean()) * 70 * np.sqrt(taps)
    options: dict[str, Any] = {"depth_multiplier": channels // depth} if depthwise else {}
    if bias_dtype == "int32":
        options["quantized_bias_type"] = "int32"
    sheet.operator(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        operands,
        (
            (2, -(-height // stride[0]), -(-width // stride[1]), channels),
            "int16",
            near(rng, spread),
        ),
        padding="SAME",
        stride_h=stride[0],
        stride_w=stride[1],
        dilation_h_factor=1,
        dilation_w_factor=1,
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
        kernel, scales = weights(sheet, (units, depth), 0, True)
    else:
        scales = np.array([0.01], np.float32)
        array = full_range(rng, "int8", (units, depth))
        kernel = sheet.constant(array, Quantization.per_tensor(0.01, point))
    operands = [data(sheet, (3, depth), scale), kernel]
    if rng.random() < 0.7:
        operands.append(bias(sheet, units, dtype))
    spread = float(scale.scale[0]) * float(scales.mean()) * 70 * np.sqrt(depth)
    stated = {"quantized_bias_type": "int32"} if dtype == "int32" else {}
    sheet.operator(
        "FULLY_CONNECTED",
        operands,
        ((3, units), "int16", near(rng, spread)),
        fused_activation_function=str(rng.choice(ACTIVATIONS)),
        **stated,
    )


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_dense_layers(dtype: str) -> None:
    sheet = Sheet(seed=2)
    for index in range(24):
        add_dense(sheet, dtype, per_axis=index % 2 == 0, point=index - 12)
    sheet.check_reference()


def test_sums_of_32_bits_wrap() -> None:
    sheet = Sheet(seed=3)
    values = np.full((1, 1, 1, 600), -32768, np.int16)
    operands = [
        sheet.input(values, symmetric(1e-3)),
        sheet.constant(np.full((2, 1, 1, 600), -127, np.int8), symmetric(0.01)),
        sheet.bias(np.array([0, 2**31 - 1], np.int32)),
    ]
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    wide = {"dilation_h_factor": 1, "dilation_w_factor": 1, "quantized_bias_type": "int32"}
    sheet.operator("CONV_2D", operands, ((1, 1, 1, 2), "int16", symmetric(1.0)), **window, **wide)
    rows = [sheet.input(values.reshape(1, 600), symmetric(1e-3)), *operands[1:]]
    rows[1] = sheet.constant(np.full((2, 600), -127, np.int8), symmetric(0.01))
    result = ((1, 2), "int16", symmetric(1.0))
    sheet.operator("FULLY_CONNECTED", rows, result, quantized_bias_type="int32")
    sheet.check_reference()


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


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_transposed_convolutions(dtype: str) -> None:
    sheet = Sheet(seed=14)
    for index in range(4):
        scale = near(sheet.rng, 1e-3)
        kernel, _ = weights(sheet, (3, 3, 2, 5), 0, True)
        shape = sheet.constant([1, 8, 10, 3])
        operands = [shape, kernel, data(sheet, (1, 4, 5, 5), scale)]
        if index % 2:
            operands.append(bias(sheet, 3, dtype))
        result = ((1, 8, 10, 3), "int16", near(sheet.rng, float(scale.scale[0]) * 3))
        window = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
        stated = {"quantized_bias_type": "int32"} if dtype == "int32" else {}
        sheet.operator("TRANSPOSE_CONV", operands, result, **window, **stated)
    sheet.check()


def test_products_of_matrices() -> None:
    sheet = Sheet(seed=15)
    for adj_x, adj_y, is_constant in (
        (False, False, False),
        (True, True, False),
        (False, True, True),
    ):
        scales = near(sheet.rng, 1e-3), near(sheet.rng, 1e-2)
        lhs = data(sheet, (2, 30, 4) if adj_x else (2, 4, 30), scales[0])
        shape = (5, 30) if adj_y else (2, 30, 5)
        if is_constant:
            rhs = sheet.constant(full_range(sheet.rng, "int8", shape), scales[1])
        else:
            rhs = data(sheet, shape, scales[1])
        step = float(scales[0].scale[0] * scales[1].scale[0])
        result = ((2, 4, 5), "int16", near(sheet.rng, step * (500 if is_constant else 1e5)))
        sheet.operator("BATCH_MATMUL", [lhs, rhs], result, adj_x=adj_x, adj_y=adj_y)
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


def test_compiled_layers() -> None:
    sheet = Sheet(seed=12)
    for dtype in ("int64", "int32"):
        add_convolution(sheet, False, dtype)
        add_dense(sheet, dtype, per_axis=True)
    add_convolution(sheet, True, "int64")
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
    with pytest.raises(QnnError, match=message):
        from_tflite(model)


def test_weights_of_4_bits_that_litert_does_not_unpack() -> None:
    sheet = Sheet(seed=17)
    kernel = sheet.four_bits(np.ones((1, 1, 1, 2), np.int8), symmetric(0.1))
    operands = [data(sheet, (1, 3, 3, 2), symmetric(0.1)), kernel]
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    sheet.operator("DEPTHWISE_CONV_2D", operands, ((1, 3, 3, 2), "int16", symmetric(0.1)), **window)
    with pytest.raises(UnsupportedOperatorError, match="int4 weights beside int16 data"):
        from_tflite(sheet.model())


def test_a_bias_that_the_options_do_not_state() -> None:
    sheet = Sheet(seed=13)
    rows = [data(sheet, (3, 4), symmetric(0.1)), weights(sheet, (5, 4), 0, True)[0]]
    rows.append(bias(sheet, 5, "int32"))
    sheet.operator("FULLY_CONNECTED", rows, ((3, 5), "int16", symmetric(0.1)))
    with pytest.raises(QnnError, match="the bias tensor 2 'c3' must be int64, got int32"):
        from_tflite(sheet.model())
