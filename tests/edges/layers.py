"""Layers with weights: of 8 bits, of int16, and hybrid."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.edges.arithmetic import window
from tests.edges.draw import ACTIVATIONS, Draw, drawn

_KINDS = (
    *[("int8", "int8"), ("uint8", "uint8"), ("int16", "int8"), ("float32", "int8")] * 3,
    *[("int8", "int4"), ("int16", "int4"), ("float32", "int4"), ("float32", "uint8")],
)


def _weights(
    draw: Draw, kind: tuple[str, str], shape: Sequence[int], axis: int | None = None
) -> int:
    """Return constant weights, with a scale for each channel of an axis now and then."""
    dtype = kind[1]
    point = int(draw.rng.integers(256)) if dtype == "uint8" else draw.choice(*[0] * 20, 1)
    known = Quantization.per_tensor(0.01, point)
    if axis is not None and dtype != "uint8" and shape[axis] and draw.chance(0.5):
        scales = draw.rng.uniform(0.005, 0.02, shape[axis]).astype(np.float32)
        if draw.chance(0.2):
            scales[:] = scales[0]
        known = Quantization(scales, np.zeros(shape[axis], np.int64), axis)
    if dtype == "int4":
        numbers = draw.rng.integers(-8, 8, tuple(shape)).astype(np.int8)
        return draw.writer.tensor("w", shape, "int4", known, numbers)
    return draw.constant(draw.data(dtype, shape), known)


def _bias(draw: Draw, kind: tuple[str, str], count: int, dtype: str = "") -> list[int]:
    """Return a bias, or none, rarely of another size or type than it should be."""
    if draw.chance(0.3):
        return [-1] if draw.chance(0.3) else []
    count += draw.choice(*[0] * 20, 1)
    wanted = dtype or {"int16": "int64", "float32": "float32"}.get(kind[0], "int32")
    if draw.chance(0.05):
        wanted = str(draw.choice("int32", "int64", "float32", "int8"))
    numbers = draw.rng.integers(-120, 120, count).astype(wanted)
    # LiteRT holds the scale to that of the sums, by the result's.
    known = Quantization.per_tensor(1e-5 if kind[0] == "int16" else 0.005, 0)
    return [draw.constant(numbers, None if wanted == "float32" else known)]


def _wide_bias(draw: Draw, kind: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the type of a bias beside int16 data, and the option that states it."""
    if kind[0] != "int16" or draw.chance(0.4):
        return "", {}
    dtype = str(draw.choice("int32", "int64"))
    return dtype, {"quantized_bias_type": dtype}


@drawn("CONV_2D", "DEPTHWISE_CONV_2D")
def convolution(draw: Draw) -> None:
    kind, shape = draw.choice(*_KINDS), draw.image()
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
    axis = (3 if is_depthwise else 0) if len(kernel) == 4 else None
    bias, options = ("", {}) if is_depthwise else _wide_bias(draw, kind)
    operands = [
        draw.operand(shape, kind[0], draw.encoding(kind[0])),
        _weights(draw, kind, kernel, axis),
    ]
    operands += _bias(draw, kind, channels * depth if is_depthwise else depth, bias)
    dilations = draw.choice((1, 1), (1, 1), (2, 2), (1, 3), (2**31 - 1, 2**31 - 1), (1, 2**15 - 1))
    options |= {"dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1]}
    if is_depthwise:
        options["depth_multiplier"] = depth
    result = (kind[0], draw.encoding(kind[0], 0.5))
    draw.make(operands, result, **options, **window(draw))


@drawn("TRANSPOSE_CONV")
def transposed(draw: Draw) -> None:
    kind = draw.choice(*_KINDS)
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
    bias, options = _wide_bias(draw, kind)
    operands = [
        draw.numbers((1, *ends, channels)),
        _weights(draw, kind, (channels, *taps, depth), 0),
        draw.operand((draw.choice(1, 1, 2), rows, columns, depth), kind[0], draw.encoding(kind[0])),
        *_bias(draw, kind, channels, bias),
    ]
    options |= {"padding": padding, "stride_h": steps[0], "stride_w": steps[1]}
    options["fused_activation_function"] = draw.choice(*ACTIVATIONS)
    draw.make(operands, (kind[0], draw.encoding(kind[0], 0.5)), version=4, **options)


@drawn("BATCH_MATMUL")
def product(draw: Draw) -> None:
    kinds = [("int8", "int8"), ("int16", "int16"), ("float32", "float32")]
    kind = draw.choice(*kinds, *_KINDS)
    lhs, rhs = draw.shape(1, 5), draw.shape(1, 5)
    adjoint = draw.chance(0.3), draw.chance(0.3)
    if len(lhs) > 1 and draw.chance(0.9):
        ends = [lhs[-2] if adjoint[0] else lhs[-1], draw.size()]
        rhs = (*draw.like(lhs[:-2]), *(reversed(ends) if adjoint[1] else ends))
        if len(lhs) > 3 and draw.chance(0.3):
            rhs = rhs[-2:]
    operands = [draw.operand(lhs, kind[0], draw.encoding(kind[0]))]
    if kind[0] == kind[1]:
        operands.append(draw.operand(rhs, kind[1], draw.encoding(kind[1])))
    else:
        operands.append(_weights(draw, kind, rhs))
    options: dict[str, Any] = {"adj_x": adjoint[0], "adj_y": adjoint[1]}
    options["asymmetric_quantize_inputs"] = draw.chance(0.5)
    draw.make(operands, (kind[0], draw.encoding(kind[0], 0.5)), **options)


@drawn("FULLY_CONNECTED")
def fully_connected(draw: Draw) -> None:
    kind, shape = draw.choice(*_KINDS), draw.shape()
    depth = shape[-1] if shape else 1
    if draw.chance(0.15):
        depth = draw.size()
    units = draw.size()
    bias, options = _wide_bias(draw, kind)
    operands = [
        draw.operand(shape, kind[0], draw.encoding(kind[0])),
        _weights(draw, kind, (units, depth), 0),
        *_bias(draw, kind, units, bias),
    ]
    options["asymmetric_quantize_inputs"] = draw.chance(0.5)
    draw.make(
        operands,
        (kind[0], draw.encoding(kind[0], 0.5)),
        keep_num_dims=draw.chance(0.4),
        fused_activation_function=draw.choice(*ACTIVATIONS),
        **options,
    )
