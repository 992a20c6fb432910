"""Operators that compute."""

from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.edges.draw import ACTIVATIONS, Draw, drawn


@drawn(
    *("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE", "POW", "PRELU"),
    *("FLOOR_DIV", "FLOOR_MOD"),
)
def pair(draw: Draw) -> None:
    dtype, shape = draw.computed_dtype(), draw.shape()
    shapes = [shape, draw.like(shape)]
    if draw.code != "PRELU" and draw.chance(0.5):
        shapes.reverse()
    operands = [draw.operand(each, dtype, _maybe(draw, draw.encoding(dtype))) for each in shapes]
    scale = 0.2 if draw.code == "MUL" else 0.1
    options = {}
    if draw.code in ("ADD", "SUB", "MUL", "DIV"):
        options["fused_activation_function"] = draw.choice(*ACTIVATIONS)
    if draw.code in ("ADD", "SUB") and draw.chance(0.5):
        options["pot_scale_int16"] = draw.chance(0.5)
    draw.make(operands, (dtype, _maybe(draw, draw.encoding(dtype, scale))), **options)


def _maybe(draw: Draw, known: Quantization | None) -> Quantization | None:
    """Leave out a scale now and then."""
    return None if draw.odd(0.1) else known


@drawn("MAXIMUM", "MINIMUM")
def extremum(draw: Draw) -> None:
    dtype, shape = draw.computed_dtype(), draw.shape()
    encoding = draw.encoding(dtype)
    shapes = [shape, draw.like(shape)]
    if draw.chance(0.5):
        shapes.reverse()
    operands = [draw.operand(each, dtype, encoding) for each in shapes]
    draw.make(operands, (dtype, encoding))


@drawn("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")
def reduction(draw: Draw) -> None:
    dtype, shape = draw.computed_dtype(), draw.shape()
    if draw.code == "SUM" and dtype == "int8":
        dtype = "uint8"  # for which LiteRT's reference kernel takes int8
    encoding = _maybe(draw, draw.encoding(dtype))
    axes = draw.axes(len(shape))
    numbers = np.array(axes, np.int32)
    if len(axes) == 1 and draw.chance(0.4):
        numbers = numbers.reshape(())
    data = draw.operand(shape, dtype, encoding)
    if draw.code in ("MEAN", "SUM", "REDUCE_PROD") and draw.chance(0.5):
        encoding = _maybe(draw, draw.encoding(dtype))
    draw.make([data, draw.numbers(numbers)], (dtype, encoding), keep_dims=draw.chance(0.5))


_FIXED = {
    "LOGISTIC": (1 / 256, -128),
    "TANH": (1 / 128, 0),
    "SOFTMAX": (1 / 256, -128),
    "LOG_SOFTMAX": (16 / 256, 127),
}


@drawn(
    *("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "EXP", "SOFTMAX", "L2_NORMALIZATION"),
    *("RELU", "RELU6", "RELU_N1_TO_1", "ABS", "CEIL", "COS", "ELU", "FLOOR", "LOG", "NEG"),
    *("RSQRT", "SIN", "SQRT", "SQUARE", "GELU", "ZEROS_LIKE", "LOG_SOFTMAX", "RELU_0_TO_1"),
)
def unary(draw: Draw) -> None:
    dtype, shape = draw.computed_dtype(), draw.shape()
    data = draw.operand(shape, dtype, _maybe(draw, draw.encoding(dtype)))
    encoding = draw.encoding(dtype)
    if encoding is not None and draw.code in _FIXED:
        scale, point = _FIXED[draw.code]
        point += 128 if dtype == "uint8" else 0
        if dtype == "int16":
            scale, point = 1 / 32768, 0
        encoding = Quantization.per_tensor(scale, point)
    options = {}
    if draw.code == "LEAKY_RELU":
        options["alpha"] = draw.choice(0.1, 0.5, 0.0, -0.3, 1.5)
    if draw.code == "GELU":
        options["approximate"] = draw.chance(0.5)
    if draw.code == "SOFTMAX":
        options["beta"] = draw.choice(1.0, 0.5)
    draw.make([data], (dtype, _maybe(draw, encoding)), **options)


@drawn("QUANTIZE", "DEQUANTIZE")
def conversion(draw: Draw) -> None:
    source = str(draw.choice("int8", "uint8", "int16", "float32", "float32"))
    result = str(draw.choice("int8", "uint8", "int16"))
    if draw.code == "DEQUANTIZE":
        source, result = result, "float32"
    shape = draw.shape()
    encoding = draw.encoding(source)
    if encoding is not None and shape and shape[-1] > 1 and draw.chance(0.15):
        scales = draw.rng.uniform(0.01, 0.1, shape[-1]).astype(np.float32)
        encoding = Quantization(scales, np.zeros(shape[-1], np.int64), len(shape) - 1)
    data = draw.operand(shape, source, _maybe(draw, encoding))
    draw.make([data], (result, _maybe(draw, draw.encoding(result))))


def window(draw: Draw) -> dict[str, Any]:
    strides = draw.choice((1, 1), (1, 1), (2, 2), (1, 3), (7, 1), (2**31 - 1, 1))
    return {
        "padding": str(draw.choice("SAME", "VALID")),
        "stride_h": strides[0],
        "stride_w": strides[1],
        "fused_activation_function": draw.choice(*ACTIVATIONS),
    }


@drawn("MAX_POOL_2D", "AVERAGE_POOL_2D")
def pool(draw: Draw) -> None:
    dtype, shape = str(draw.choice("int8", "uint8", "int16")), draw.image()
    encoding = draw.encoding(dtype)
    height, width = draw.choice((1, 1), (2, 2), (3, 3), (2, 5), (9, 1), (2**31 - 1, 1))
    sizes = {"filter_height": height, "filter_width": width}
    data = draw.operand(shape, dtype, encoding)
    draw.make([data], (dtype, encoding), **sizes, **window(draw))


@drawn("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(draw: Draw) -> None:
    dtype, shape = str(draw.choice("int8", "uint8", "int16")), draw.image()
    encoding = draw.encoding(dtype)
    size = draw.numbers([int(each) for each in draw.rng.integers(0, 12, 2)])
    aligned = draw.chance(0.3)
    draw.make(
        [draw.operand(shape, dtype, encoding), size],
        (dtype, encoding),
        align_corners=aligned,
        half_pixel_centers=not aligned and draw.chance(0.5),
    )
