"""Layers of floats and quantized pools: layouts, windows, and the divisors of averages."""

from typing import Any

import numpy as np
import pytest

from tests.support.errors import fails
from tests.support.mxnet_float import convert
from tests.support.mxnet_graphs import computed, graph_of, imported
from tvm_qnn import build

WEIGHT = np.ones((4, 3, 3, 2), np.float32)
ATTRS = {"kernel": "(3, 2)", "num_filter": "4", "no_bias": "True"}


def test_images_with_their_channels_last_take_such_kernels() -> None:
    rng = np.random.default_rng(0)
    data = rng.uniform(-1, 1, (2, 3, 6, 5)).astype(np.float32)
    weight = rng.uniform(-1, 1, WEIGHT.shape).astype(np.float32)
    bias = rng.uniform(-1, 1, 4).astype(np.float32)
    attrs = {**ATTRS, "no_bias": "False", "stride": "(1, 2)", "pad": "(1, 0)"}
    first = build_and_run(convert("Convolution", data.shape, weight, bias, **attrs), data)
    moved = data.transpose(0, 2, 3, 1)
    kernel = weight.transpose(0, 2, 3, 1)
    last = build_and_run(
        convert("Convolution", moved.shape, kernel, bias, layout="NHWC", **attrs), moved
    )
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), first, rtol=0, atol=1e-6)


def build_and_run(converted: Any, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    mod, params = converted
    return np.asarray(build(mod, "llvm", params).run(np.ascontiguousarray(data)))


def test_images_with_their_channels_last_stay_so() -> None:
    mod, _ = convert("Pooling", (1, 6, 5, 3), kernel="(2, 2)", layout="NHWC", pool_type="avg")
    assert tuple(map(int, mod["main"].ret_ty.shape)) == (1, 5, 4, 3)


RANGE = {"low": np.float32(0), "high": np.float32(2)}
NAMES = ["data", "low", "high"]
DATA = np.array([[1, 2, 2], [3, 3, 0], [0, 250, 255]], np.uint8).reshape(1, 1, 3, 3)


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({"kernel": "(2, 2)"}, [[3, 3], [250, 255]]),
        ({"kernel": "(2, 2)", "stride": "(2, 2)", "pooling_convention": "full"},
         [[3, 2], [250, 255]]),
        # Ties go to the even number: 9/4, 7/4, 256/4, 508/4; 10/4 of the first two columns is 2.
        ({"kernel": "(2, 2)", "pool_type": "avg"}, [[2, 2], [64, 127]]),
        ({"global_pool": "True", "kernel": "(1, 1)", "pool_type": "avg"}, [[57]]),
        # Padding counts, unless it is told not to.
        ({"kernel": "(3, 3)", "pad": "(1, 1)", "stride": "(2, 2)", "pool_type": "avg"},
         [[1, 1], [28, 56]]),
        ({"kernel": "(3, 3)", "pad": "(1, 1)", "stride": "(2, 2)", "pool_type": "avg",
          "count_include_pad": "False"}, [[2, 2], [64, 127]]),
    ],
)  # fmt: skip
def test_by_hand(attrs: dict[str, Any], expected: list[list[int]]) -> None:
    graph = graph_of("_contrib_quantized_pooling", attrs, NAMES, outputs=3)
    result, low, high = computed(graph, {"data": DATA}, RANGE)
    np.testing.assert_array_equal(result[0, 0], expected)
    assert (low, high) == (0, 2)


def test_sums_of_windows_do_not_exist() -> None:
    attrs = {"kernel": "(2, 2)", "pool_type": "sum"}
    graph = graph_of("_contrib_quantized_pooling", attrs, NAMES)
    fails("pool_type must be one of max, avg, got 'sum'", imported, graph, {"data": DATA}, RANGE)
