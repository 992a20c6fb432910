"""Random quantized convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tvm import relax

from qnn_ops import quantized_conv2d
from qnn_ops.dialect.layouts import permutation
from qnn_ops.dialect.registry import TensorSpec, attrs_of
from tests.support.arrays import full_range


@st.composite
def convolutions(
    draw: st.DrawFn,
    layouts: Sequence[str] = ("NHWC", "NCHW"),
    most_groups: int = 3,
    most_channels: int = 3,
) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes; ``layouts`` of data and result, ``most_channels`` in a group."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups = draw(st.integers(1, most_groups))
    per_group, multiplier = (draw(st.integers(1, most_channels)) for _ in range(2))
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
    if draw(st.booleans()):
        bounds = (
            full_range(rng, out_dtype, (2,))
            if out_dtype != "int32"
            else rng.integers(-9999, 9999, 2)
        )
        attrs["out_min"], attrs["out_max"] = np.sort(bounds).tolist()
    operands = [
        np.ascontiguousarray(data.transpose(permutation("NHWC", data_layout))),
        np.ascontiguousarray(kernel.transpose(permutation("OHWI", kernel_layout))),
        bias if draw(st.booleans()) else None,
    ]
    if attrs["rounding"] == "onednn":
        _for_onednn(draw, rng, operands, attrs)
    return operands, attrs


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
