"""Convolution and Deconvolution of floats, and the attributes of windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert
from tvm_qnn import build

WEIGHT = np.ones((4, 3, 3, 2), np.float32)
ATTRS = {"kernel": "(3, 2)", "num_filter": "4", "no_bias": "True"}


def test_what_mxnet_computes() -> None:
    # Sums of products in another order.
    check_family("convolution", {"": 1e-6})


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


@pytest.mark.parametrize(
    ("changes", "weight", "message"),
    [
        ({"num_filter": "5"}, WEIGHT, r"weight must have shape \(5, 3, 3, 2\), got \(4, 3, 3, 2\)"),
        ({"num_group": "2"}, WEIGHT, "num_group must divide the 3 channels"),
        ({"num_group": "0"}, WEIGHT, "num_group must divide"),
        ({"kernel": "(3, 2, 1)"}, WEIGHT, "kernel must be two numbers"),
        ({"stride": "(0, 1)"}, WEIGHT, "stride must be two numbers of at least 1"),
        ({"kernel": "(9, 2)"}, np.ones((4, 3, 9, 2), np.float32), "window spans 9 pixels"),
        ({"no_bias": "maybe"}, WEIGHT, "no_bias must be true or false"),
        ({"no_bias": "0"}, WEIGHT, "input 2 is missing"),
    ],
)
def test_attributes_that_do_not_fit_are_named(
    changes: dict[str, str], weight: Any, message: str
) -> None:
    with pytest.raises(QnnError, match=rf"Convolution 'made': .*{message}"):
        convert("Convolution", (1, 3, 6, 5), weight, **{**ATTRS, **changes})


def test_a_bias_of_another_size_is_named() -> None:
    with pytest.raises(QnnError, match=r"bias must have shape \(4,\), got \(3,\)"):
        convert(
            "Convolution",
            (1, 3, 6, 5),
            WEIGHT,
            np.ones(3, np.float32),
            **{**ATTRS, "no_bias": "False"},
        )


def test_volumes_are_not_supported() -> None:
    with pytest.raises(UnsupportedOperatorError, match="only images of layout NCHW or NHWC"):
        convert("Convolution", (1, 3, 6, 5, 4), WEIGHT, **ATTRS)


ATTRS_DECONVOLUTION = {"kernel": "(3, 2)", "num_filter": "3", "stride": "(2, 2)"}


def test_what_mxnet_computes_of_deconvolution() -> None:
    # Sums of products in another order.
    check_family("deconvolution", {"": 1e-6})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_filter": "5"}, r"weight must have shape \(4, 5, 3, 2\)"),
        ({"num_group": "3"}, "num_group must divide the 4 channels"),
        ({"adj": "(2, 0)"}, "adj be below the stride of 2"),
        ({"pad": "(7, 0)"}, "pad must leave something"),
    ],
)
def test_attributes_that_do_not_fit_are_named_of_deconvolution(
    changes: dict[str, str], message: str
) -> None:
    with pytest.raises(QnnError, match=rf"Deconvolution 'made': .*{message}"):
        convert("Deconvolution", (1, 4, 6, 5), WEIGHT, **{**ATTRS_DECONVOLUTION, **changes})


def test_target_shapes_are_not_supported() -> None:
    with pytest.raises(UnsupportedOperatorError, match="without a target_shape"):
        convert(
            "Deconvolution", (1, 4, 6, 5), WEIGHT, **ATTRS_DECONVOLUTION, target_shape="(12, 10)"
        )
