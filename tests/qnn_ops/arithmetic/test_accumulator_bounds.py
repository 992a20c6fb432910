from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qnn_ops import QnnError
from qnn_ops.arithmetic.accumulator_bounds import (
    Bounds,
    Weights,
    centred_bounds,
    check_activation,
    check_fixed_point,
    check_product_sums,
    check_scaled,
    product_sums,
    signed_sums,
)
from qnn_ops.arrays import Array
from tests.support.errors import fails

HIGHEST = 2**31 - 1
few = settings(deadline=None, max_examples=30)
dtypes = st.sampled_from(["int8", "uint8"])


def in_dtype(dtype: str) -> st.SearchStrategy[int]:
    info = np.iinfo(dtype)
    return st.integers(int(info.min), int(info.max))


@st.composite
def layers(draw: st.DrawFn) -> tuple[Array, int, str, int]:
    """Weights [2, depth] with a zero point, and the data's dtype with its zero point."""
    kernel_dtype, data_dtype = draw(dtypes), draw(dtypes)
    depth = draw(st.integers(1, 4))
    values = draw(st.lists(in_dtype(kernel_dtype), min_size=2 * depth, max_size=2 * depth))
    weights = np.array(values, kernel_dtype).reshape(2, depth)
    return weights, draw(in_dtype(kernel_dtype)), data_dtype, draw(in_dtype(data_dtype))


def weights_of(array: Array, zero_point: int) -> Weights:
    return Weights(len(array), array.shape[1], str(array.dtype), zero_point, lambda: array)


@few
@given(layers())
def test_sums_reach_their_bounds_and_no_partial_sum_passes_them(
    layer: tuple[Array, int, str, int],
) -> None:
    weights, weight_point, dtype, point = layer
    info = np.iinfo(dtype)
    centred = weights.astype(np.int64) - weight_point
    bounds = product_sums(signed_sums(centred, 1), centred_bounds(dtype, point))
    # A sum is linear in the data, so that its extremes lie at the ends of the data's range.
    corners = np.array(list(product((info.min, info.max), repeat=weights.shape[1])), np.int64)
    partial = np.cumsum((corners - point)[:, None, :] * centred[None], axis=2)
    assert (partial[:, :, -1].min(axis=0) == bounds.low).all()
    assert (partial[:, :, -1].max(axis=0) == bounds.high).all()
    assert (partial >= bounds.low[:, None]).all()
    assert (partial <= bounds.high[:, None]).all()


def test_long_rows_of_narrow_integers_do_not_wrap() -> None:
    for size in (1, (1 << 16) - 1, 1 << 16, 1 << 17):
        above, below = signed_sums(np.full((1, size), -32767, np.int16), 1)
        assert (above.tolist(), below.tolist()) == ([0], [-32767 * size])
        assert above.dtype == below.dtype == np.int64


@few
@given(layers(), st.integers(-300_000, 300_000), st.booleans())
def test_sums_are_refused_exactly_where_they_leave_int32(
    layer: tuple[Array, int, str, int], room: int, is_low: bool
) -> None:
    weights, weight_point, dtype, point = layer
    data = centred_bounds(dtype, point)
    bounds = product_sums(signed_sums(weights.astype(np.int64) - weight_point, 1), data)
    ends = -(2**31) - bounds.low if is_low else HIGHEST - bounds.high
    # What is left between a sum with its bias and the end of int32 is ``room``.
    bias = np.clip(ends + (room if is_low else -room), -(2**31), HIGHEST)
    totals = bounds + bias
    fits = bool((totals.low >= -(2**31)).all() and (totals.high <= HIGHEST).all())
    try:
        check_product_sums(weights_of(weights, weight_point), data, bias.astype(np.int32))
        accepted = True
    except QnnError:
        accepted = False
    assert accepted == fits


def test_the_error_names_the_channel_and_its_bound() -> None:
    weights = np.array([[1], [-128]], np.int8)
    bias = np.array([0, HIGHEST - 128 * 128 + 1], np.int32)
    with pytest.raises(QnnError) as caught:
        check_product_sums(weights_of(weights, 0), centred_bounds("int8", 0), bias)
    assert str(caught.value) == (
        "the accumulator of output channel 1, bias included, can reach 2147483648, which int32 "
        "does not hold: what the model's framework computes then is undefined"
    )


def test_sums_that_a_bias_brings_back_are_refused() -> None:
    # The framework adds the bias last.
    weights = np.full((1, 70_000), -128, np.int8)
    bias = np.array([-(2**31)], np.int32)
    with pytest.raises(QnnError, match=f"the accumulator can reach {70_000 * 128 * 255},"):
        check_product_sums(weights_of(weights, 0), centred_bounds("int8", 127), bias)


def test_weights_are_not_read_where_sizes_decide() -> None:
    def read() -> Array:
        raise AssertionError("read")

    check_product_sums(Weights(8, 33_000, "uint8", 3, read), centred_bounds("uint8", 0))
    with pytest.raises(AssertionError, match="read"):
        check_product_sums(Weights(8, 33_100, "uint8", 0, read), centred_bounds("uint8", 0))


@few
@given(st.integers(0, HIGHEST), st.floats(1e-3, 2.0**31, exclude_max=True), st.integers(-128, 127))
def test_fixed_point_scaling_is_refused_where_it_leaves_int32(
    high: int, multiplier: float, zero_point: int
) -> None:
    mantissa, exponent = np.frexp(multiplier)
    q, left = round(mantissa * 2**31), max(int(exponent), 0)
    if q == 2**31:  # pragma: no cover (the next power of two)
        return
    lifted = high << left
    scaled = (lifted * q + (1 << 30)) >> 31
    right = max(-int(exponent), 0)
    if right:
        scaled = (scaled + (1 << (right - 1))) >> right
    fits = lifted <= HIGHEST and scaled + zero_point <= HIGHEST
    try:
        check_scaled(Bounds.of(0, high), multiplier, "tflite", zero_point)
        accepted = True
    except QnnError:
        accepted = False
    assert accepted == fits


@pytest.mark.parametrize(
    ("rounding", "multiplier", "high"),
    [("tflite", 1.0, 2**30 - 1), ("tflite", 0.999, HIGHEST), ("float64", 1.0, HIGHEST)],
)
def test_the_largest_sum_that_can_be_scaled(rounding: str, multiplier: float, high: int) -> None:
    check_scaled(Bounds.of(-high, high), multiplier, rounding, 0)
    if high < HIGHEST:
        with pytest.raises(QnnError, match="shifted left by 1 bits to be scaled"):
            check_scaled(Bounds.of(-high, high + 1), multiplier, rounding, 0)
    if multiplier == 1.0 and rounding == "float64":
        with pytest.raises(QnnError, match="scaled, can reach 2147483648"):
            check_scaled(Bounds.of(-high, high), multiplier, rounding, 1)


@pytest.mark.parametrize("multiplier", [2.0**31, 1e30, float("inf")])
def test_multipliers_that_no_shift_reaches(multiplier: float) -> None:
    fails(r"too far|must be finite", check_scaled, Bounds.of(0, 0), multiplier, "tflite", 0)


def test_one_multiplier_of_several_is_too_large() -> None:
    bounds = Bounds.of([0, 0], [100, 100])
    check_fixed_point(bounds, [2**30, 2**30], [0, 24], 0)
    with pytest.raises(QnnError, match="of output channel 1, shifted left by 25 bits"):
        check_fixed_point(bounds, [2**30, 2**30], [0, 25], 0)


@pytest.mark.parametrize(("kind", "least"), [("relu6", 6 / 2**31), ("relu_n1_to_1", 1 / 2**31)])
def test_activations_whose_range_leaves_int32(kind: str, least: float) -> None:
    check_activation(kind, 1.01 * least, 0)
    fails(f"too small for {kind}", check_activation, kind, 0.99 * least, 0)
    check_activation("relu", 1e-38, 127)
