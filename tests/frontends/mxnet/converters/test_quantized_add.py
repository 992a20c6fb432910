from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.mxnet_graphs import computed, graph_of

NAMES = ["a", "b", "alow", "ahigh", "blow", "bhigh"]
RANGES = {
    "alow": np.float32(-3),
    "ahigh": np.float32(2),
    "blow": np.float32(0),
    "bhigh": np.float32(0.7),
}
RNG = np.random.default_rng(0)


def levels(dtype: Any) -> np.float32:
    return np.float32(127.5 if dtype == np.int8 else 255.5)


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_a_calibrated_sum(dtypes: tuple[str, str]) -> None:
    a, b = (RNG.integers(0, 128, 4000).astype(dtype) for dtype in dtypes)
    attrs = {"min_calib_range": -2.5, "max_calib_range": 2}
    graph = graph_of("_contrib_quantized_elemwise_add", attrs, NAMES, outputs=3)
    result, low, high = computed(graph, {"a": a, "b": b}, RANGES)
    out = np.uint8 if dtypes == ("uint8", "uint8") else np.int8
    steps = levels(out) / np.float32(2.5)
    first = a.astype(np.float32) * (steps / (levels(a.dtype) / np.float32(3)))
    second = b.astype(np.float32) * (steps / (levels(b.dtype) / np.float32(0.7)))
    if dtypes[0] != dtypes[1]:
        second = np.clip(np.rint(second), -128, 127).astype(np.float32)
    info = np.iinfo(out)
    np.testing.assert_array_equal(
        result, np.clip(np.rint(first + second), info.min, info.max).astype(out)
    )
    assert (low, high) == (-2.5, 2)


def test_a_sum_without_calibration_has_32_bits() -> None:
    a, b = (RNG.integers(-128, 128, 1000).astype(np.int8) for _ in range(2))
    graph = graph_of("_contrib_quantized_elemwise_add", {}, NAMES, outputs=3)
    result, low, high = computed(graph, {"a": a, "b": b}, RANGES)
    whole = np.float32(3) + np.float32(0.7)
    divisor = whole * np.float32(127.5)
    terms = [
        values.astype(np.float32) * (np.float32(most) * np.float32(2**31) / divisor)
        for values, most in ((a, 3), (b, 0.7))
    ]
    np.testing.assert_array_equal(result, np.rint(terms[0] + terms[1]).astype(np.int64))
    assert high == whole == -low
