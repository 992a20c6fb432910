from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from qnn_ops import quantized_prelu
from tests.support.cases.elementwise import elementwise_cases
from tests.support.operators import check_operator


@given(elementwise_cases(product=True))
@settings(max_examples=15, deadline=None)
def test_primitives_equal_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    operands, attrs = case
    check_operator(quantized_prelu, operands, **attrs)
