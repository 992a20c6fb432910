from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from qnn_ops import quantized_mean
from tests.support.cases.quantized_mean import means
from tests.support.operators import check_operator


@given(means())
@settings(max_examples=20, deadline=None)
def test_primitives_equal_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    operands, attrs = case
    check_operator(quantized_mean, operands, **attrs)
