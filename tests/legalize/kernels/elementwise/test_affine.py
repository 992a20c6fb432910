from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from legalize.kernels.elementwise.affine import affine_form
from qnn_ops import quantized_add, quantized_subtract
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of
from tests.support.encodings import encodings
from tests.support.operators import module_of

scales = st.floats(2.0**-8, 1.0, width=32)
dtypes = st.sampled_from(["int8", "uint8"])


def zero_points(dtype: str) -> st.SearchStrategy[int]:
    return st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


@st.composite
def sums(draw: st.DrawFn) -> tuple[Operator[Any], Attrs, tuple[str, str], int]:
    operator, sign = draw(st.sampled_from([(quantized_add, 1), (quantized_subtract, -1)]))
    lhs, rhs, out = draw(dtypes), draw(dtypes), draw(dtypes)
    limits = int(np.iinfo(out).min), int(np.iinfo(out).max)
    ends = sorted(draw(st.tuples(st.integers(*limits), st.integers(*limits))))
    operands = [np.zeros(64, lhs), np.zeros(64, rhs)]
    attrs = encodings(
        lhs=(draw(scales), draw(zero_points(lhs))),
        rhs=(draw(scales), draw(zero_points(rhs))),
        output=(draw(scales), draw(zero_points(out))),
        out_dtype=out,
        out_min=ends[0],
        out_max=ends[1],
    )
    mod = module_of(operator, operands, **attrs)
    call = mod["main"].body.blocks[0].bindings[0].value
    return operator, attrs_of(call), (lhs, rhs), sign


def every_pair(lhs: str, rhs: str) -> tuple[Any, Any]:
    ranges = (np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1) for dtype in (lhs, rhs))
    left, right = np.meshgrid(*ranges, indexing="ij")
    return left.astype(lhs), right.astype(rhs)


@settings(max_examples=30)
@given(sums())
def test_a_form_equals_the_reference_for_every_pair(
    call: tuple[Operator[Any], Attrs, tuple[str, str], int],
) -> None:
    operator, attrs, dtypes, sign = call
    form = affine_form(operator, attrs, dtypes, sign)
    assume(form is not None)
    assert form is not None
    lhs, rhs = every_pair(*dtypes)
    low = [int(np.iinfo(dtype).min) for dtype in dtypes]
    total = form.lhs * (lhs.astype(np.int64) - low[0]) + form.rhs * (rhs.astype(np.int64) - low[1])
    total += form.addend
    total += np.where(total < form.zero, form.below, 0) if form.below else 0
    assert abs(total).max() < 2**31
    lowest = int(np.iinfo(attrs.out_dtype).min)
    result = np.clip((total >> form.shift) + lowest, attrs.out_min, attrs.out_max)
    np.testing.assert_array_equal(result, operator.apply(attrs, lhs, rhs))


@pytest.mark.parametrize(("output_scale", "has_form"), [(0.5, True), (2.0**-30, False)])
def test_sums_have_a_form_where_int32_holds_them(output_scale: float, has_form: bool) -> None:
    attrs = Attrs(
        out_min=-128,
        out_max=127,
        arithmetic="tflite",
        **encodings(lhs=(0.5, 0), rhs=(0.5, 0), output=(output_scale, 0), out_dtype="int8"),
    )
    form = affine_form(quantized_add, attrs, ("int8", "int8"), 1)
    assert (form is not None) == has_form


def test_many_ties_take_an_addend_for_sums_below_zero() -> None:
    attrs = Attrs(
        out_min=0,
        out_max=255,
        arithmetic="tflite",
        **encodings(
            lhs=(2.0**-7, 227), rhs=(2.0**-4, 92), output=(2.0**-5, 137), out_dtype="uint8"
        ),
    )
    form = affine_form(quantized_add, attrs, ("uint8", "uint8"), 1)
    assert form is not None
    assert form.below < 0
