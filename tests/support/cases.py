"""Random calls of operators: operands and attributes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from tvm import relax

from qnn_ops import quantized_conv2d
from qnn_ops.dialect.layouts import permutation
from qnn_ops.dialect.registry import TensorSpec, attrs_of
from tests.support.arrays import full_range


@st.composite
def elementwise_cases(draw: st.DrawFn, product: bool) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes; with ``product`` the output scale is near the scales' product."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4)).input_shapes
    dtypes = [draw(st.sampled_from(["int8", "uint8"])) for _ in range(3)]
    operands = [full_range(rng, dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=False)]
    exponents = rng.uniform(-12, 2, 2)
    # Mostly results that fill their range; sometimes all saturated or all zero.
    spread = draw(st.sampled_from([0, 1, 2, 3, -30, 30]))
    output = exponents.sum() + 6 if product else exponents.max()
    # Powers of two make ties frequent.
    powers = np.array([*exponents, output + spread])
    scales = np.exp2(np.round(powers) if draw(st.booleans()) else powers)
    attrs = {
        "lhs_scale": float(scales[0]),
        "lhs_zero_point": int(full_range(rng, dtypes[0], ())),
        "rhs_scale": float(scales[1]),
        "rhs_zero_point": int(full_range(rng, dtypes[1], ())),
        "output_scale": float(scales[2]),
        "output_zero_point": int(full_range(rng, dtypes[2], ())),
        "out_dtype": dtypes[2],
    }
    if draw(st.booleans()):
        attrs["out_min"], attrs["out_max"] = np.sort(full_range(rng, dtypes[2], (2,))).tolist()
    return operands, attrs


def random_concat(rng: np.random.Generator, dtype: str) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes; uint8 inputs have their own scales and zero points, most of them."""
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(-rank, rank))
    shape = rng.integers(1, 5, rank).tolist()
    exponent = rng.uniform(-8, 4)
    # Powers of two make ties frequent.
    exponent = np.round(exponent) if rng.integers(2) else exponent
    output = (float(np.float32(2.0**exponent)), full_range(rng, dtype, ()).item())
    inputs, quantizations = [], []
    for _ in range(rng.integers(1, 5)):
        shape[axis] = int(rng.integers(1, 5))
        inputs.append(full_range(rng, dtype, tuple(shape)))
        step = rng.uniform(-3, 3)
        scale = output[0] * 2.0 ** (np.round(step) if rng.integers(2) else step)
        own = (float(np.float32(scale)), full_range(rng, dtype, ()).item())
        quantizations.append(output if dtype == "int8" or rng.integers(4) == 0 else own)
    attrs = {
        "input_scales": [scale for scale, _ in quantizations],
        "input_zero_points": [zero_point for _, zero_point in quantizations],
        "output_scale": output[0],
        "output_zero_point": output[1],
        "out_dtype": dtype,
        "axis": axis,
    }
    return [inputs], attrs


@st.composite
def convolutions(
    draw: st.DrawFn,
    layouts: Sequence[str] = ("NHWC", "NCHW"),
    most_groups: int = 3,
    most_channels: int = 3,
    *,
    is_depthwise: bool = False,
) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes; ``layouts`` of data and result, ``most_channels`` in a group.

    A depthwise one has at least two groups, of one input channel each.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups = draw(st.integers(1 + is_depthwise, most_groups))
    per_group, multiplier = (draw(st.integers(1, most_channels)) for _ in range(2))
    per_group = 1 if is_depthwise else per_group
    window = [draw(st.integers(1, 3)) for _ in range(2)]
    dilation = [draw(st.integers(1, 2)) for _ in range(2)]
    size = [
        (taps - 1) * step + 1 + draw(st.integers(0, 4))
        for taps, step in zip(window, dilation, strict=True)
    ]
    dtype, kernel_dtype, out_dtype = (draw(st.sampled_from(["int8", "uint8"])) for _ in range(3))
    if draw(st.integers(0, 4)) == 0:
        out_dtype = "int32"
    data_layout, out_layout = (draw(st.sampled_from(layouts)) for _ in range(2))
    kernel_layout = draw(st.sampled_from(["OIHW", "OHWI", "HWIO", "IHWO", "HWOI"]))
    out_channels = groups * multiplier
    per_channel = draw(st.booleans())
    point = {name: full_range(rng, name, ()).item() for name in ("int8", "uint8")}
    kernel_zero_points = full_range(rng, kernel_dtype, (out_channels,)).tolist()
    has_own_zero_points = draw(st.integers(0, 4)) == 0
    data = full_range(rng, dtype, (draw(st.integers(1, 2)), *size, groups * per_group))
    kernel = full_range(rng, kernel_dtype, (out_channels, *window, per_group))
    bias = rng.integers(-5000, 5000, out_channels, dtype=np.int32)
    exponents = rng.uniform(-9, -4, out_channels)
    # Powers of two make ties frequent.
    scales = 2.0 ** (np.round(exponents) if draw(st.booleans()) else exponents)
    attrs: dict[str, Any] = {
        "input_scale": 0.125,
        "input_zero_point": point[dtype],
        "kernel_scale": scales.tolist() if per_channel else float(scales[0]),
        "kernel_zero_point": kernel_zero_points if has_own_zero_points else kernel_zero_points[0],
        "output_scale": draw(st.sampled_from([0.5, 0.33, 0.001])),
        "output_zero_point": 0 if out_dtype == "int32" else point[out_dtype],
        "out_dtype": out_dtype,
        "strides": [draw(st.integers(1, 2)) for _ in range(2)],
        "padding": [draw(st.integers(0, 2)) for _ in range(4)],
        "dilation": dilation,
        "groups": groups,
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout,
        "rounding": draw(st.sampled_from(["tflite", "upward", "float32", "float64", "onednn"])),
    }
    attrs |= _bounds(draw, rng, out_dtype)
    operands = [
        np.ascontiguousarray(data.transpose(permutation("NHWC", data_layout))),
        np.ascontiguousarray(kernel.transpose(permutation("OHWI", kernel_layout))),
        bias if draw(st.booleans()) else None,
    ]
    if attrs["rounding"] == "onednn":
        _for_onednn(draw, rng, operands, attrs)
    return operands, attrs


def _bounds(draw: st.DrawFn, rng: np.random.Generator, out_dtype: str) -> dict[str, int]:
    """Return the attributes that clamp a result, now and then."""
    if not draw(st.booleans()):
        return {}
    is_byte = out_dtype != "int32"
    ends = full_range(rng, out_dtype, (2,)) if is_byte else rng.integers(-9999, 9999, 2)
    return dict(zip(("out_min", "out_max"), np.sort(ends).tolist(), strict=True))


def _for_onednn(
    draw: st.DrawFn, rng: np.random.Generator, operands: list[Any], attrs: dict[str, Any]
) -> None:
    """Make the bias large where that matters, and add a tensor to the result."""
    if operands[2] is not None and draw(st.booleans()):
        operands[2] = rng.integers(-(2**30), 2**30, operands[2].size, dtype=np.int32)
    if attrs["out_dtype"] == "int32" or operands[2] is None or draw(st.booleans()):
        return
    result = quantized_conv2d.infer(
        attrs_of(quantized_conv2d(*map(constant, operands[:2]), **attrs)),
        *(TensorSpec(operand.shape, str(operand.dtype)) for operand in operands),
    )
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    operands.append(full_range(rng, dtype, result.shape))
    attrs["addend_scale"] = draw(st.sampled_from([0.5, 0.33, 0.001]))
    attrs["addend_zero_point"] = full_range(rng, dtype, ()).item()
    attrs["relu_before_addend"] = draw(st.booleans())


def constant(array: np.ndarray) -> relax.Expr:
    return relax.const(array, str(array.dtype))


@st.composite
def dense_layers(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    batch = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    depth, units = draw(st.integers(1, 40)), draw(st.integers(1, 9))
    dtype, kernel_dtype, out_dtype = (draw(st.sampled_from(["int8", "uint8"])) for _ in range(3))
    if draw(st.integers(0, 4)) == 0:
        out_dtype = "int32"
    point = {name: full_range(rng, name, ()).item() for name in ("int8", "uint8")}
    kernel_zero_points = full_range(rng, kernel_dtype, (units,)).tolist()
    has_own_zero_points = draw(st.integers(0, 4)) == 0
    exponents = rng.uniform(-9, -4, units)
    # Powers of two make ties frequent.
    scales = 2.0 ** (np.round(exponents) if draw(st.booleans()) else exponents)
    attrs: dict[str, Any] = {
        "input_scale": 0.125,
        "input_zero_point": point[dtype],
        "kernel_scale": scales.tolist() if draw(st.booleans()) else float(scales[0]),
        "kernel_zero_point": kernel_zero_points if has_own_zero_points else kernel_zero_points[0],
        "output_scale": draw(st.sampled_from([0.5, 0.33, 0.001])),
        "output_zero_point": 0 if out_dtype == "int32" else point[out_dtype],
        "out_dtype": out_dtype,
        "rounding": draw(st.sampled_from(["tflite", "upward", "float32", "float64", "onednn"])),
    }
    largest = 2**30 if attrs["rounding"] == "onednn" and draw(st.booleans()) else 5000
    bias = rng.integers(-largest, largest, units, dtype=np.int32)
    attrs |= _bounds(draw, rng, out_dtype)
    operands = [
        full_range(rng, dtype, (*batch, depth)),
        full_range(rng, kernel_dtype, (units, depth)),
        bias if draw(st.booleans()) else None,
    ]
    return operands, attrs


@st.composite
def means(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype, out_dtype = (draw(st.sampled_from(["int8", "uint8"])) for _ in range(2))
    shape = tuple(draw(st.lists(st.integers(1, 6), max_size=4)))
    rank = len(shape)
    axis = draw(st.lists(st.integers(-rank, rank - 1), max_size=rank)) if rank else []
    input_scale = 2.0 ** rng.uniform(-10, 3)
    # Mostly like the input's; sometimes everything saturates or vanishes.
    ratio = 2.0 ** draw(st.sampled_from([0.0, -1.0, 0.37, -2.7, 30.0, -40.0]))
    return [full_range(rng, dtype, shape)], {
        "axis": axis,
        "keepdims": draw(st.booleans()),
        "input_scale": input_scale,
        "input_zero_point": int(full_range(rng, dtype, ())),
        "output_scale": input_scale * ratio,
        "output_zero_point": int(full_range(rng, out_dtype, ())),
        "out_dtype": out_dtype,
    }


@st.composite
def poolings(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    layout = draw(st.sampled_from(["NHWC", "NCHW"]))
    # Sometimes more than 127 taps, which the primitives divide in another way.
    window = [draw(st.sampled_from([1, 2, 3, 4, 12])) for _ in range(2)]
    padding = [draw(st.integers(0, min(taps - 1, 2))) for taps in window * 2]
    size = [
        max(taps - before - after, 1) + draw(st.integers(0, 4))
        for taps, before, after in zip(window, padding[:2], padding[2:], strict=True)
    ]
    data = full_range(rng, dtype, (draw(st.integers(1, 2)), *size, draw(st.integers(1, 5))))
    attrs: dict[str, Any] = {
        "pool_type": draw(st.sampled_from(["max", "avg"])),
        "pool_size": window,
        "strides": [draw(st.integers(1, 2)) for _ in range(2)],
        "padding": padding,
        "layout": layout,
    }
    if draw(st.booleans()):
        attrs["out_min"], attrs["out_max"] = np.sort(full_range(rng, dtype, (2,))).tolist()
    if draw(st.booleans()):
        attrs["rounding"] = "half_even"
    if draw(st.booleans()):
        attrs["count_include_pad"] = True
    if draw(st.booleans()):
        attrs["origin"] = int(full_range(rng, dtype, (1,))[0])
    return [np.ascontiguousarray(data.transpose(permutation("NHWC", layout)))], attrs


@st.composite
def resizes(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    layout = draw(st.sampled_from(["NHWC", "NCHW"]))
    image = [draw(st.integers(1, 9)) for _ in range(2)]
    data = full_range(rng, dtype, (draw(st.integers(1, 2)), *image, draw(st.integers(1, 3))))
    centers = [(False, False), (True, False), (False, True)]
    align_corners, half_pixel_centers = draw(st.sampled_from(centers))
    return [np.ascontiguousarray(data.transpose(permutation("NHWC", layout)))], {
        "size": [draw(st.integers(1, 20)) for _ in range(2)],
        "method": draw(st.sampled_from(["bilinear", "bilinear", "nearest_neighbor"])),
        "align_corners": align_corners,
        "half_pixel_centers": half_pixel_centers,
        "layout": layout,
    }


@st.composite
def softmaxes(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype, out_dtype = (draw(st.sampled_from(["int8", "uint8"])) for _ in range(2))
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    if draw(st.booleans()):
        # Long rows of equal values reach sums of 512 and more.
        shape = (*shape[:-1], draw(st.sampled_from([300, 700, 5000])))
        axis = -1
    data = full_range(rng, dtype, shape)
    if draw(st.booleans()):
        data = data >> 7  # two values only
    return [data], {
        "input_scale": 2.0 ** draw(st.floats(-28, 7)),
        "input_zero_point": int(full_range(rng, dtype, ())),
        "output_scale": 1 / 256,
        "output_zero_point": -128 if out_dtype == "int8" else 0,
        "out_dtype": out_dtype,
        "beta": draw(st.sampled_from([1.0, 0.3])),
        "axis": axis,
    }
