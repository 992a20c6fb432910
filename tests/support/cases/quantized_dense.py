"""Random quantized dense layers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.arrays import full_range


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
    if draw(st.booleans()):
        bounds = (
            full_range(rng, out_dtype, (2,))
            if out_dtype != "int32"
            else rng.integers(-9999, 9999, 2)
        )
        attrs["out_min"], attrs["out_max"] = np.sort(bounds).tolist()
    operands = [
        full_range(rng, dtype, (*batch, depth)),
        full_range(rng, kernel_dtype, (units, depth)),
        bias if draw(st.booleans()) else None,
    ]
    return operands, attrs
