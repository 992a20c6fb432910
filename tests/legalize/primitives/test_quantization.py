"""quantize, dequantize and requantize in Relax primitives."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qnn_ops import dequantize, quantize, requantize
from tests.support.arrays import full_range
from tests.support.operators import check_operator, check_operators


@pytest.mark.parametrize("out_dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("has_multiplier", [False, True])
def test_primitives_equal_the_reference(
    out_dtype: str, per_channel: bool, has_multiplier: bool
) -> None:
    rng = np.random.default_rng(1)
    # Ties, values near them, values beyond every range, and NaN.
    scales = np.array([0.5, 0.1, 3.0, 0.007], np.float32)
    data = (rng.integers(-600, 600, (1000, 4)) / 2 * scales).astype(np.float32)
    data[100:200] = np.nextafter(data[100:200], np.float32(0))
    data[0], data[1], data[2], data[3] = np.nan, np.inf, -np.inf, 1e30
    data[4:300:3] *= np.float32(1e7)
    zero_points = np.array([0, 1, 100, 127])
    multiplier: Any = None
    if has_multiplier:
        multiplier = (1 / scales).tolist() if per_channel else 1 / 0.1
    check_operator(
        quantize,
        [data],
        scale=scales.tolist() if per_channel else 0.1,
        zero_point=zero_points.tolist() if per_channel else 3,
        out_dtype=out_dtype,
        multiplier=multiplier,
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_primitives_equal_the_reference_of_dequantize(dtype: str, per_channel: bool) -> None:
    rng = np.random.default_rng(2)
    data = full_range(rng, dtype, (4, 500))
    zero_points = full_range(rng, dtype, (4,))
    check_operator(
        dequantize,
        [data],
        scale=[0.5, 0.1, 3.0, 0.007] if per_channel else 0.1,
        zero_point=zero_points.tolist() if per_channel else int(zero_points[0]),
        axis=0,
    )


DTYPES = st.sampled_from(["int8", "uint8", "int16", "int32"])


@st.composite
def requantizations(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype, out_dtype = draw(DTYPES), draw(DTYPES)
    rounding = draw(st.sampled_from(["tflite", "upward", "float32", "float64"]))
    per_channel, is_even = draw(st.booleans()), draw(st.booleans())
    # Multipliers from 2^-25 to 2^3; powers of two make ties frequent.
    exponents = rng.uniform(-20, 2, 5)
    scales = np.exp2(np.round(exponents) if is_even else exponents)
    zero_points = full_range(rng, dtype, (5,)) // (2 if dtype == "int32" else 1)
    data = full_range(rng, dtype, (2, 5, 100))
    if dtype == "int32":
        # A difference of int32 values must be one too.
        data = data // 2
    attrs: dict[str, Any] = {
        "input_scale": scales.tolist() if per_channel else float(scales[0]),
        "input_zero_point": zero_points.tolist() if per_channel else int(zero_points[0]),
        "output_scale": float(np.exp2(rng.integers(-1, 5))),
        "output_zero_point": full_range(rng, out_dtype, ()).item(),
        "out_dtype": out_dtype,
        "axis": 1,
        "rounding": rounding,
    }
    if rng.integers(2):
        attrs["out_min"], attrs["out_max"] = sorted(full_range(rng, out_dtype, (2,)).tolist())
    return [data], attrs


@given(st.lists(requantizations(), min_size=5, max_size=5))
@settings(max_examples=3)
def test_primitives_equal_the_reference_of_requantize(
    cases: list[tuple[list[Any], dict[str, Any]]],
) -> None:
    check_operators([(requantize, *case) for case in cases])
