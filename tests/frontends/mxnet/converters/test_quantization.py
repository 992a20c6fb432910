"""Ranges and changes of scale of quantized operators; quantize, dequantize and requantize."""

from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.mxnet_graphs import computed, graph_of, imported

DATA = np.array([-2, -0.3, 0, 0.5, 1, 3], np.float32)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.clip(np.rint(values), info.min, info.max).astype(dtype)


@pytest.mark.parametrize(
    ("attrs", "dtype", "ends"),
    [
        ({"min_calib_range": -1, "max_calib_range": 0.5}, "int8", (-1, 1)),
        ({"out_type": "auto", "min_calib_range": 0, "max_calib_range": 2}, "uint8", (0, 2)),
        ({"out_type": "auto", "min_calib_range": -2, "max_calib_range": 1}, "int8", (-2, 2)),
        ({"out_type": "uint8", "min_calib_range": -3, "max_calib_range": 1}, "uint8", (-3, 1)),
        ({"out_type": "auto"}, "int8", (-3, 3)),
    ],
)
def test_quantize_v2(attrs: dict[str, Any], dtype: str, ends: tuple[float, float]) -> None:
    graph = graph_of("_contrib_quantize_v2", attrs, ["data"], outputs=3)
    result, low, high = computed(graph, {"data": DATA})
    levels = np.float32(127.5 if dtype == "int8" else 255.5)
    np.testing.assert_array_equal(result, rounded(DATA * (levels / max(map(abs, ends))), dtype))
    assert result.dtype == dtype
    assert (low, high) == ends


def test_quantize_has_fewer_steps() -> None:
    names = ["data", "low", "high"]
    graph = graph_of("_contrib_quantize", {"out_type": "int8"}, names, outputs=3)
    constants = {"low": np.full(1, -2, np.float32), "high": np.full(1, 1, np.float32)}
    result, low, high = computed(graph, {"data": DATA}, constants)
    np.testing.assert_array_equal(result, rounded(DATA * np.float32(127 / 2), "int8"))
    assert (low, high) == (-2, 2)


@pytest.mark.parametrize("is_known", [True, False])
def test_dequantize(is_known: bool) -> None:
    graph = graph_of("_contrib_dequantize", {}, ["data", "low", "high"])
    ends = {"low": np.full(1, -3, np.float32), "high": np.full(1, 2, np.float32)}
    data = {"data": np.array([-128, 1, 127], np.int8)}
    constants = ends if is_known else {}
    (result,) = computed(graph, {**data, **({} if is_known else ends)}, constants)
    step = np.float32(3) / np.float32(127.5)
    np.testing.assert_array_equal(result, data["data"].astype(np.float32) * step)


@pytest.mark.parametrize("is_calibrated", [True, False])
def test_requantize(is_calibrated: bool) -> None:
    attrs = {"min_calib_range": -1, "max_calib_range": 0.5} if is_calibrated else {}
    names = ["data", "low", "high"]
    graph = graph_of("_contrib_requantize", attrs, names, outputs=3)
    sums = np.array([-(2**27), 12345678, 2**26], np.int32)
    constants = {"low": np.float32(-4), "high": np.float32(4)}
    result, low, high = computed(graph, {"data": sums}, constants)
    source = np.float32(4) / np.float32(2**31)
    magnitude = np.float32(1 if is_calibrated else 2**27 * 4 / 2**31)
    factor = source * (np.float32(127) / magnitude)
    np.testing.assert_array_equal(result, rounded(sums.astype(np.float32) * factor, "int8"))
    assert (low, high) == (-magnitude, magnitude)


@pytest.mark.parametrize(
    ("op", "attrs", "dtype", "message"),
    [
        ("_contrib_quantize_v2", {"out_type": "int4"}, "float32", "out_type must be one of"),
        ("_contrib_quantize_v2", {}, "int32", "'data' must be float32, got int32"),
        ("_contrib_quantize_v2", {"min_calib_range": 0}, "float32", "max_calib_range is missing"),
        (
            "_contrib_quantize_v2",
            {"min_calib_range": -1e-45, "max_calib_range": 1e-45},
            "float32",
            "scale must be positive and finite, got 0.0",
        ),
        ("_contrib_dequantize", {}, "int32", "must be int8 or uint8, got int32"),
        ("_contrib_requantize", {}, "int8", "'data' must be int32, got int8"),
    ],
)
def test_what_does_not_fit(op: str, attrs: dict[str, Any], dtype: str, message: str) -> None:
    constants = {"low": np.float32(-1), "high": np.float32(1)}
    names = ["data"] if op.endswith("v2") else ["data", "low", "high"]
    fails(message, imported, graph_of(op, attrs, names), {"data": np.zeros(3, dtype)}, constants)


def test_a_range_must_be_one_finite_number() -> None:
    graph = graph_of("_contrib_dequantize", {}, ["data", "low", "high"])
    constants = {"low": np.float32(np.nan), "high": np.float32(1)}
    with pytest.raises(QnnError, match="'low' must be one finite number"):
        imported(graph, {"data": np.zeros(3, np.int8)}, constants)
