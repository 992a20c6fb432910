from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from qnn_ops import quantized_pool2d
from tests.support.arrays import full_range
from tests.support.cases.quantized_pool2d import poolings
from tests.support.operators import check_operator


@given(poolings())
@settings(max_examples=20, deadline=None)
def test_primitives_equal_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    operands, attrs = case
    check_operator(quantized_pool2d, operands, **attrs)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("taps", [127, 128])
def test_every_average_of_the_largest_fast_window_and_beyond(dtype: str, taps: int) -> None:
    # One image a sum: from all lowest to all highest, one value changed at a time.
    info = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    sums = rng.integers(taps * info.min, taps * info.max, 3000, endpoint=True)
    sums[:2] = taps * info.min, taps * info.max
    base, rest = sums // taps, sums % taps
    data = base[:, None] + (np.arange(taps) < rest[:, None])
    check_operator(
        quantized_pool2d,
        [data.astype(dtype).reshape(3000, 1, taps, 1)],
        pool_type="avg",
        pool_size=(1, taps),
        layout="NHWC",
    )


def test_large_padded_window() -> None:
    data = full_range(np.random.default_rng(0), "int8", (1, 20, 20, 2))
    check_operator(
        quantized_pool2d, [data], pool_type="avg", pool_size=15, padding=7, layout="NHWC"
    )
