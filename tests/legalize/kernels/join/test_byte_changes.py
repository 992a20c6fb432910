import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.join.byte_changes import Clamp, Scaling, Table, cheapest_change
from qnn_ops import requantize
from qnn_ops.arrays import Array

STEPS = np.arange(256)


def applied(change: Clamp | Scaling) -> Array:
    if isinstance(change, Clamp):
        return np.clip(STEPS, change.low, change.high)
    products = STEPS * change.multiplier >> 8
    assert change.multiplier < 1 << 16
    assert (products + change.addend).max() < 1 << 15
    return np.clip((products + change.addend) >> change.shift, change.low, change.high)


def test_copies_and_activations_are_clamps() -> None:
    assert cheapest_change(STEPS) == Clamp(0, 255)
    assert cheapest_change(np.clip(STEPS, 7, 200)) == Clamp(7, 200)
    assert cheapest_change(np.full(256, 9)) == Clamp(9, 9)


def test_what_does_not_rise_evenly_is_a_table() -> None:
    for outputs in (255 - STEPS, STEPS**2 // 255, np.random.default_rng(0).permutation(256)):
        assert cheapest_change(outputs) == Table()


def test_another_scale_is_a_scaling() -> None:
    for outputs in ((STEPS * 3 + 1) // 4, np.clip(STEPS * 5 // 4 - 20, 0, 255)):
        assert isinstance(cheapest_change(outputs), Scaling)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_every_form_is_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scales = np.exp2(rng.uniform(-8, -5, 2))
    points = rng.integers(0, 256, 2)
    values = STEPS.astype(np.uint8)
    outputs = requantize.evaluate(
        values, float(scales[0]), int(points[0]), float(scales[1]), int(points[1]), "uint8"
    )
    change = cheapest_change(outputs)
    if not isinstance(change, Table):
        np.testing.assert_array_equal(applied(change), outputs)
