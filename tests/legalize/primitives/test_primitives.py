"""Random calls of operators: their primitives give what their references give."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qnn_ops
from tests.support.cases import (
    convolutions,
    dense_layers,
    elementwise_cases,
    means,
    poolings,
    resizes,
    softmaxes,
)
from tests.support.operators import check_operators

CASES: dict[str, st.SearchStrategy[tuple[list[Any], dict[str, Any]]]] = {
    "quantized_add": elementwise_cases(product=False),
    "quantized_conv2d": convolutions(),
    "quantized_dense": dense_layers(),
    "quantized_mean": means(),
    "quantized_multiply": elementwise_cases(product=True),
    "quantized_pool2d": poolings(),
    "quantized_prelu": elementwise_cases(product=True),
    "quantized_resize2d": resizes(),
    "quantized_softmax": softmaxes(),
    "quantized_squared_difference": elementwise_cases(product=False),
    "quantized_subtract": elementwise_cases(product=False),
}


@pytest.mark.parametrize("name", CASES)
@given(draw=st.data())
@settings(max_examples=4, deadline=None)
def test_primitives_equal_the_reference(name: str, draw: st.DataObject) -> None:
    cases = draw.draw(st.lists(CASES[name], min_size=5, max_size=5))
    check_operators([(getattr(qnn_ops, name), *case) for case in cases])
