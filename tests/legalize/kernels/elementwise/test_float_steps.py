import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.elementwise.float_steps import FloatSteps, float_steps, square_steps
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.arrays import Array


def applied(steps: FloatSteps, x: Array, *, is_fused: bool) -> Array:
    addend = np.full(x.shape, steps.addend, np.float32)
    if steps.addend_below is not None:
        addend[x < 0] = steps.addend_below
    if is_fused:
        # Exact in float64: 17 bits by 24, and an addend of 24.
        total = (x * steps.scale + addend.astype(np.float64)).astype(np.float32)
    else:
        total = x.astype(np.float32) * np.float32(steps.scale) + addend
    return np.clip(np.trunc(total), 0, 255)


def rounded(x: Array, scale: float, zero_point: int, bounds: tuple[int, int]) -> Array:
    scaled = multiply_by_quantized_multiplier(x, *quantize_multiplier(scale)).astype(np.int64)
    return np.clip(scaled + zero_point, *bounds)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_steps_are_exact_fused_or_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.arange(-int(rng.integers(1, 65026)), int(rng.integers(1, 65026)))
    exponent = rng.uniform(-11, -3)
    scale = float(2.0 ** (np.round(exponent) if rng.integers(2) else exponent))
    zero_point = int(rng.integers(0, 256))
    bounds = (zero_point, 255) if rng.integers(2) else (0, 255)
    outputs = rounded(x, scale, zero_point, bounds)
    steps = float_steps(x, outputs, scale, bounds)
    if steps is not None:
        for is_fused in (False, True):
            result = np.clip(applied(steps, x, is_fused=is_fused), *bounds)
            np.testing.assert_array_equal(result, outputs)


def test_most_scales_have_steps() -> None:
    x = np.arange(-16384, 16385)
    scales = np.exp2(np.random.default_rng(0).uniform(-8, -5, 20))
    found = [float_steps(x, rounded(x, s, 128, (0, 255)), s, (0, 255)) for s in scales.tolist()]
    assert sum(steps is not None for steps in found) > 15


def test_sums_below_zero_may_need_an_addend_of_their_own() -> None:
    # The double rounding moves the steps towards zero from both sides.
    x = np.arange(-512, 513)
    steps = float_steps(x, rounded(x, 0.25, 128, (0, 255)), 0.25, (0, 255))
    assert steps is not None
    assert steps.addend_below is not None
    assert steps.addend_below < steps.addend


@pytest.mark.parametrize(("largest", "scale"), [(1 << 20, 0.01), (100, 2.0**-30), (100, 2.0**20)])
def test_what_float32_cannot_tell_has_none(largest: int, scale: float) -> None:
    x = np.arange(-largest, largest + 1, max(largest // 100, 1))
    assert float_steps(x, np.clip(x, 0, 255), scale, (0, 255)) is None


def test_squares_have_steps_for_most_scales() -> None:
    rng = np.random.default_rng(4)
    found = 0
    for scale in np.exp2(rng.uniform(-24, -14, 40)).tolist():
        exact = np.rint(np.arange(32642, dtype=np.float64) ** 2 * scale)
        found += square_steps(np.clip(exact.astype(np.int64), 0, 255), scale, (0, 255)) is not None
    assert found >= 30


def test_a_scale_that_squares_do_not_have_has_no_steps() -> None:
    assert square_steps(np.zeros(10, np.int64), 2.0**-80, (0, 255)) is None
