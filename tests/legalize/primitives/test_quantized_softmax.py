from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from qnn_ops import quantized_softmax
from tests.support.cases.quantized_softmax import softmaxes
from tests.support.operators import check_operator


@given(softmaxes())
@settings(max_examples=10, deadline=None)
def test_primitives_equal_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    operands, attrs = case
    check_operator(quantized_softmax, operands, **attrs)
