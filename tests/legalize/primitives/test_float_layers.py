"""Convolutions, products and moments of floats as loops, which add in a stated order."""

import numpy as np
import pytest

from qnn_ops import float_conv2d, row_moments
from qnn_ops.unquantized.row_moments import ORDERS
from tests.support.float_sums import convolutions, products, residual_sums
from tests.support.kernels import Call
from tests.support.operators import check_operator


@pytest.mark.parametrize(
    "call", [*convolutions(), *residual_sums(), *products()], ids=lambda call: ""
)
def test_primitives_equal_the_reference(call: Call) -> None:
    check_operator(call.operator, call.operands, **call.attrs)


def test_any_layout_and_numbers_that_are_none() -> None:
    rng = np.random.default_rng(1)
    data = rng.normal(size=(1, 4, 6, 7)).astype(np.float32)
    data[0, :2, 3, 3] = np.nan, np.inf
    kernel = rng.normal(size=(4, 3, 3, 5)).astype(np.float32)
    kernel[0, 0, 0, 0] = np.inf
    layouts = {"data_layout": "NCHW", "kernel_layout": "IHWO", "out_layout": "NHWC"}
    check_operator(float_conv2d, [data, kernel], padding=1, low=-2.0, high=2.0, **layouts)
    layouts["out_layout"] = "NCHW"
    addend = rng.normal(size=(1, 5, 6, 7)).astype(np.float32)
    bias = np.ones(5, np.float32)
    check_operator(float_conv2d, [data, kernel, bias, addend], padding=1, **layouts)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 33), (8, 40), (48, 7), (6, 29)])
def test_primitives_equal_the_reference_of_row_moments(order: str, shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(1).normal(0.5, 2, shape).astype(np.float32)
    check_operator(row_moments, [rows], order=order)
