"""Operators that compute."""

from __future__ import annotations

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
    operands = [draw.input(each, dtype, draw.encoding(dtype)) for each in shapes]
    scale = 0.2 if draw.code == "MUL" else 0.1
    options = {}
    if draw.code in ("ADD", "SUB", "MUL", "DIV"):
        options["fused_activation_function"] = draw.choice(*ACTIVATIONS)
    draw.operator(operands, (dtype, draw.encoding(dtype, scale)), **options)


@drawn("MAXIMUM", "MINIMUM")
def extremum(draw: Draw) -> None:
    dtype, shape = draw.computed_dtype(), draw.shape()
    encoding = draw.encoding(dtype)
    shapes = [shape, draw.like(shape)]
    if draw.chance(0.5):
        shapes.reverse()
    operands = [draw.input(each, dtype, encoding) for each in shapes]
    draw.operator(operands, (dtype, encoding))


@drawn("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")
def reduction(draw: Draw) -> None:
    dtype, shape = draw.computed_dtype(), draw.shape()
    if draw.code == "SUM" and dtype == "int8":
        dtype = "uint8"  # for which LiteRT's reference kernel takes int8
    encoding = draw.encoding(dtype)
    axes = draw.axes(len(shape))
    numbers = np.array(axes, np.int32)
    if len(axes) == 1 and draw.chance(0.4):
        numbers = numbers.reshape(())
    data = draw.input(shape, dtype, encoding)
    if draw.code == "MEAN" and draw.chance(0.5):
        encoding = draw.encoding(dtype)
    draw.operator([data, draw.numbers(numbers)], (dtype, encoding), keep_dims=draw.chance(0.5))


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
    data = draw.input(shape, dtype, draw.encoding(dtype))
    encoding = draw.encoding(dtype)
    if encoding is not None and draw.code in _FIXED:
        scale, point = _FIXED[draw.code]
        point += 128 if dtype == "uint8" else 0
        encoding = Quantization.per_tensor(scale, point)
    options = {}
    if draw.code == "LEAKY_RELU":
        options["alpha"] = draw.choice(0.1, 0.5, 0.0, -0.3, 1.5)
    if draw.code == "GELU":
        options["approximate"] = draw.chance(0.5)
    if draw.code == "SOFTMAX":
        options["beta"] = draw.choice(1.0, 0.5)
    draw.operator([data], (dtype, encoding), **options)


@drawn("QUANTIZE", "DEQUANTIZE")
def conversion(draw: Draw) -> None:
    source = str(draw.choice("int8", "uint8", "float32", "float32"))
    result = str(draw.choice("int8", "uint8"))
    if draw.code == "DEQUANTIZE":
        source, result = result, "float32"
    shape = draw.shape()
    encoding = draw.encoding(source)
    if encoding is not None and shape and shape[-1] > 1 and draw.chance(0.15):
        scales = draw.rng.uniform(0.01, 0.1, shape[-1]).astype(np.float32)
        encoding = Quantization(scales, np.zeros(shape[-1], np.int64), len(shape) - 1)
    draw.operator([draw.input(shape, source, encoding)], (result, draw.encoding(result)))


def _window(draw: Draw) -> dict[str, Any]:
    strides = draw.choice((1, 1), (1, 1), (2, 2), (1, 3), (7, 1), (2**31 - 1, 1))
    return {
        "padding": str(draw.choice("SAME", "VALID")),
        "stride_h": strides[0],
        "stride_w": strides[1],
        "fused_activation_function": draw.choice(*ACTIVATIONS),
    }


@drawn("MAX_POOL_2D", "AVERAGE_POOL_2D")
def pool(draw: Draw) -> None:
    dtype, shape = str(draw.choice("int8", "uint8")), draw.image()
    encoding = draw.encoding(dtype)
    height, width = draw.choice((1, 1), (2, 2), (3, 3), (2, 5), (9, 1), (2**31 - 1, 1))
    sizes = {"filter_height": height, "filter_width": width}
    data = draw.input(shape, dtype, encoding)
    draw.operator([data], (dtype, encoding), **sizes, **_window(draw))


@drawn("CONV_2D", "DEPTHWISE_CONV_2D")
def convolution(draw: Draw) -> None:
    dtype, shape = str(draw.choice("int8", "uint8")), draw.image()
    channels = shape[-1] if shape else 1
    depth = draw.choice(1, 2, 3, 5, 0)
    rows, columns = draw.choice((1, 1), (1, 1), (3, 3), (2, 5), (5, 1), (0, 1))
    is_depthwise = draw.code == "DEPTHWISE_CONV_2D"
    kernel: tuple[int, ...] = (
        (1, rows, columns, channels * depth)
        if is_depthwise
        else (depth, rows, columns, max(1, channels // draw.choice(1, 1, 1, 2)))
    )
    if draw.chance(0.03):
        kernel = draw.shape()
    outputs = channels * depth if is_depthwise else depth
    weights = draw.encoding(dtype, 0.01)
    if dtype == "int8":
        weights = Quantization.per_tensor(0.01, 0)
        if outputs > 1 and len(kernel) == 4 and draw.chance(0.5):
            scales = draw.rng.uniform(0.005, 0.02, outputs).astype(np.float32)
            weights = Quantization(scales, np.zeros(outputs, np.int64), 3 if is_depthwise else 0)
    encoding = draw.encoding(dtype)
    operands = [draw.input(shape, dtype, encoding)]
    operands.append(draw.constant(draw.data(dtype, kernel), weights))
    if draw.chance(0.7):
        bias = draw.rng.integers(-500, 500, outputs + draw.choice(*[0] * 20, 1)).astype(np.int32)
        operands.append(draw.constant(bias, Quantization.per_tensor(0.01, 0)))
    dilations = draw.choice((1, 1), (1, 1), (2, 2), (1, 3), (2**31 - 1, 2**31 - 1), (1, 2**15 - 1))
    options = {"dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1]}
    if is_depthwise:
        options["depth_multiplier"] = depth
    result = (dtype, draw.encoding(dtype, 0.5))
    draw.operator(operands, result, **options, **_window(draw))


@drawn("TRANSPOSE_CONV")
def transposed(draw: Draw) -> None:
    dtype = str(draw.choice("int8", "uint8"))
    rows, columns = (int(size) for size in draw.rng.integers(1, 6, 2))
    depth, channels = draw.choice(1, 2, 3, 0), draw.choice(1, 2, 3)
    taps = draw.choice((1, 1), (2, 2), (3, 3), (2, 5), (5, 1))
    steps = draw.choice((1, 1), (2, 2), (2, 3), (5, 1))
    padding = str(draw.choice("SAME", "VALID"))
    ends = [
        (size - 1) * step + (1 if padding == "SAME" else tap)
        for size, step, tap in zip((rows, columns), steps, taps, strict=True)
    ]
    if draw.chance(0.3):
        ends[0] += int(draw.choice(1, -1, 2))
    weights = draw.encoding(dtype, 0.01)
    if dtype == "int8":
        weights = Quantization.per_tensor(0.01, int(draw.choice(*[0] * 20, 1)))
    shape = (1, *ends, channels)
    operands = [
        draw.numbers(shape),
        draw.constant(draw.data(dtype, (channels, *taps, depth)), weights),
        draw.input((1, rows, columns, depth), dtype, draw.encoding(dtype)),
    ]
    options = {"padding": padding, "stride_h": steps[0], "stride_w": steps[1]}
    options["fused_activation_function"] = draw.choice(*ACTIVATIONS)
    draw.operator(operands, (dtype, draw.encoding(dtype, 0.5)), version=4, **options)


@drawn("BATCH_MATMUL")
def product(draw: Draw) -> None:
    dtype = str(draw.choice("int8", "float32"))
    lhs, rhs = draw.shape(1, 5), draw.shape(1, 5)
    if len(lhs) > 1 and draw.chance(0.9):
        rhs = (*draw.like(lhs[:-2]), lhs[-1], draw.size())
    adjoint = draw.chance(0.2), draw.chance(0.2)
    operands = [draw.input(each, dtype, draw.encoding(dtype)) for each in (lhs, rhs)]
    result = (dtype, draw.encoding(dtype, 0.5))
    draw.operator(operands, result, adj_x=adjoint[0], adj_y=adjoint[1])


@drawn("FULLY_CONNECTED")
def fully_connected(draw: Draw) -> None:
    dtype, shape = str(draw.choice("int8", "uint8")), draw.shape()
    depth = shape[-1] if shape else 1
    if draw.chance(0.15):
        depth = draw.size()
    units = draw.size()
    point = 0 if dtype == "int8" else int(draw.rng.integers(256))
    operands = [
        draw.input(shape, dtype, draw.encoding(dtype)),
        draw.constant(draw.data(dtype, (units, depth)), Quantization.per_tensor(0.01, point)),
    ]
    if draw.chance(0.6):
        bias = draw.rng.integers(-500, 500, units).astype(np.int32)
        operands.append(draw.constant(bias, Quantization.per_tensor(0.01, 0)))
    draw.operator(
        operands,
        (dtype, draw.encoding(dtype, 0.5)),
        keep_num_dims=draw.chance(0.4),
        fused_activation_function=draw.choice(*ACTIVATIONS),
    )


@drawn("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(draw: Draw) -> None:
    dtype, shape = str(draw.choice("int8", "uint8")), draw.image()
    encoding = draw.encoding(dtype)
    size = draw.numbers([int(each) for each in draw.rng.integers(0, 12, 2)])
    aligned = draw.chance(0.3)
    draw.operator(
        [draw.input(shape, dtype, encoding), size],
        (dtype, encoding),
        align_corners=aligned,
        half_pixel_centers=not aligned and draw.chance(0.5),
    )
