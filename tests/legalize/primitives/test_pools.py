"""quantized_pool2d, quantized_mean and reduce_windows in Relax primitives."""

import numpy as np
import pytest

from qnn_ops import quantized_pool2d, reduce_windows
from qnn_ops.unquantized.reduce_windows import DTYPES, REDUCTIONS
from tests.support.arrays import full_range
from tests.support.operators import check_operator


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


@pytest.mark.parametrize("dtype", DTYPES)
def test_primitives_equal_the_reference_of_reduce_windows(dtype: str) -> None:
    rng = np.random.default_rng(0)
    most = 2**31 if dtype == "int32" else 100  # int32 wraps
    data = rng.integers(0, most, (5, 6)).astype(dtype) * rng.integers(0, 2, (5, 6)).astype(dtype)
    if dtype == "float32":
        data[1, 2:4] = np.nan
    for reduction in REDUCTIONS:
        windows = {"window": [2, 3], "strides": [1, 2], "dilations": [3, 1]}
        check_operator(reduce_windows, [data, data[0, :1]], **windows, reduction=reduction)
