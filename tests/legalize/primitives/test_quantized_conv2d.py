from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from qnn_ops import quantized_conv2d
from tests.support.cases.quantized_conv2d import convolutions
from tests.support.operators import check_operator


@given(convolutions())
@settings(max_examples=25, deadline=None)
def test_primitives_equal_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    operands, attrs = case
    check_operator(quantized_conv2d, operands, **attrs)
