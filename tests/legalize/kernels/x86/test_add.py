from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from legalize.kernels.vector.affine import AffineForm, affine_form
from legalize.kernels.x86.add import add
from qnn_ops import quantized_add, quantized_subtract
from qnn_ops.registry import Attrs, Operator, attrs_of
from tests.support.operators import module_of
from tests.support.vnni import needs_vnni, run

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
    attrs = {
        "lhs_scale": draw(scales),
        "lhs_zero_point": draw(zero_points(lhs)),
        "rhs_scale": draw(scales),
        "rhs_zero_point": draw(zero_points(rhs)),
        "output_scale": draw(scales),
        "output_zero_point": draw(zero_points(out)),
        "out_dtype": out,
        "out_min": ends[0],
        "out_max": ends[1],
    }
    mod = module_of(operator, operands, **attrs)
    call = mod["main"].body.blocks[0].bindings[0].value
    return operator, attrs_of(call), (lhs, rhs), sign


def every_pair(lhs: str, rhs: str) -> tuple[Any, Any]:
    ranges = (np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1) for dtype in (lhs, rhs))
    left, right = np.meshgrid(*ranges, indexing="ij")
    return left.astype(lhs), right.astype(rhs)


@settings(max_examples=100)
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
    assert abs(total).max() < 2**31
    result = np.clip(total >> form.shift, attrs.out_min, attrs.out_max)
    np.testing.assert_array_equal(result, operator.apply(attrs, lhs, rhs))


@needs_vnni
@settings(max_examples=15)
@given(sums())
def test_the_kernel_equals_the_reference_for_every_pair(
    call: tuple[Operator[Any], Attrs, tuple[str, str], int],
) -> None:
    operator, attrs, dtypes, sign = call
    form = affine_form(operator, attrs, dtypes, sign)
    assume(form is not None)
    assert form is not None
    lhs, rhs = every_pair(*dtypes)
    bounds = attrs.out_min, attrs.out_max
    function = add(lhs.shape, form, (*dtypes, attrs.out_dtype), bounds)
    got = run(function, [lhs, rhs], lhs.shape, attrs.out_dtype)
    np.testing.assert_array_equal(got, operator.apply(attrs, lhs, rhs))


@pytest.mark.parametrize(("output_scale", "has_form"), [(0.5, True), (2.0**-30, False)])
def test_sums_have_a_form_where_int32_holds_them(output_scale: float, has_form: bool) -> None:
    attrs = Attrs(
        lhs_scale=0.5,
        lhs_zero_point=0,
        rhs_scale=0.5,
        rhs_zero_point=0,
        output_scale=output_scale,
        output_zero_point=0,
        out_dtype="int8",
        out_min=-128,
        out_max=127,
    )
    form = affine_form(quantized_add, attrs, ("int8", "int8"), 1)
    assert (form is not None) == has_form


@needs_vnni
@pytest.mark.parametrize("size", [64, 65, 127, 128, 200])
def test_any_size_from_one_vector_on(size: int) -> None:
    rng = np.random.default_rng(size)
    lhs, rhs = (rng.integers(0, 256, (size,), dtype=np.uint8) for _ in range(2))
    form = AffineForm(3 << 10, -(1 << 9), 100 << 10, 10)
    got = run(add(lhs.shape, form, ("uint8",) * 3, (20, 230)), [lhs, rhs], lhs.shape, "uint8")
    expected = (lhs.astype(np.int64) * 6 - rhs + 200) >> 1
    np.testing.assert_array_equal(got, np.clip(expected, 20, 230))
