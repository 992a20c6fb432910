from collections.abc import Callable

import numpy as np
import pytest

from legalize.kernels.rescale import Form, prove, steps_of
from qnn_ops.arithmetic.rounding import scale_down
from qnn_ops.arrays import Array


def reference(
    real: Array, rounding: str, zero_point: int, bounds: tuple[int, int]
) -> Callable[[Array], Array]:
    def staircase(sums: Array) -> Array:
        dtype = "int8" if bounds[0] < 0 else "uint8"
        return scale_down(sums.astype(np.int32), real, rounding, zero_point, bounds, dtype)

    return staircase


def proven(
    real: Array, rounding: str, zero_point: int, bounds: tuple[int, int], least: Array, most: Array
) -> Form:
    form = prove(reference(real, rounding, zero_point, bounds), real, least, most, bounds)
    assert form is not None
    return form


@pytest.mark.parametrize("rounding", ["tflite", "upward", "float64", "float32"])
@pytest.mark.parametrize("bounds", [(-128, 127), (0, 255), (-20, 100)])
def test_every_sum_of_small_channels_is_the_reference_s(
    rounding: str, bounds: tuple[int, int]
) -> None:
    rng = np.random.default_rng(bounds[1])
    kinds = set()
    for _ in range(6):
        channels = 8
        real = 2.0 ** rng.uniform(-9, -1, channels)
        if rounding != "float32":  # its ties go up and down alternately
            real[:2] = [0.5, 2.0**-7]
        least = -rng.integers(0, 5000, channels)
        most = least + rng.integers(1, 9000, channels)
        zero_point = int(rng.integers(*bounds))
        form = proven(real, rounding, zero_point, bounds, least, most)
        kinds.add(len(form.addend))
        sums = np.minimum(least + np.arange(14000)[:, None], most)
        expected = reference(real, rounding, zero_point, bounds)(sums)
        np.testing.assert_array_equal(np.clip(form(sums), *bounds), expected)
    # Half away from zero tells signs apart, as far as the shift of two roundings goes.
    assert 2 in kinds or rounding != "tflite" or bounds[0] >= -20


@pytest.mark.parametrize("rounding", ["tflite", "float64"])
def test_large_channels_are_right_at_their_steps_and_their_neighbours(rounding: str) -> None:
    rng = np.random.default_rng(1)
    real = 2.0 ** rng.uniform(-14, -8, 64)
    most = rng.integers(100_000, 3_000_000, 64)
    least, bounds = -most - 7, (-128, 127)
    staircase = reference(real, rounding, 5, bounds)
    form = proven(real, rounding, 5, bounds, least, most)
    steps = steps_of(staircase, least, most, *bounds)
    assert steps.has_start.sum() > 2000
    sums = np.concatenate([steps.starts + delta for delta in range(-2, 3)])
    sums = np.clip(sums, least, most)
    np.testing.assert_array_equal(np.clip(form(sums), *bounds), staircase(sums))
    # Most of a whole range, too.
    sums = rng.integers(least, most + 1, (20_000, 64))
    np.testing.assert_array_equal(np.clip(form(sums), *bounds), staircase(sums))


def test_steps_are_where_outputs_change() -> None:
    bounds = (-128, 127)
    least, most = np.array([-400, 7]), np.array([300, 7])
    staircase = reference(np.array([0.5, 0.1]), "tflite", 0, bounds)
    steps = steps_of(staircase, least, most, *bounds)
    sums = np.arange(-400, 301)
    outputs = staircase(np.stack([sums, np.full_like(sums, 7)], axis=1))[:, 0].astype(int)
    changes = sums[1:][np.diff(outputs) != 0]
    found = steps.starts[:-1, 0][steps.has_start[:-1, 0]]
    np.testing.assert_array_equal(found, changes)
    assert not steps.has_start[:-1, 1].any()


def test_constant_channels_are_their_number() -> None:
    real, point = np.array([0.001, 0.3]), np.array([100, -100_000])
    form = proven(real, "tflite", 9, (-128, 127), point, point)
    outputs = np.clip(form(point[None]), -128, 127)
    np.testing.assert_array_equal(outputs, [[9, -128]])


def test_a_form_is_what_its_attributes_say() -> None:
    form = Form(np.array([1]), 2, np.array([1 << 30]), np.array([[8], [16]], np.int32))
    assert form(np.array([[40], [-40]])).tolist() == [[(20 + 8) >> 2], [(-20 + 16) >> 2]]
    wide = Form(np.array([0]), 0, np.array([1 << 30]), np.array([[1 << 31]], np.int64))
    assert wide(np.array([[6]])).tolist() == [[2]]


@pytest.mark.parametrize("rounding", ["tflite", "upward", "float64"])
def test_channels_of_one_scale_have_one_multiplier(rounding: str) -> None:
    rng, bounds = np.random.default_rng(3), (-128, 127)
    real = np.full(16, 0.0371)
    least = -rng.integers(100, 5000, 16)
    most = least + rng.integers(1, 9000, 16)
    # The last one is a number for every sum, and takes the others' multiplier.
    least[-1], most[-1] = 40_000, 50_000
    form = proven(real, rounding, 3, bounds, least, most)
    assert form.multiplier.size == 1
    sums = np.minimum(least + np.arange(14000)[:, None], most)
    expected = reference(real, rounding, 3, bounds)(sums)
    np.testing.assert_array_equal(np.clip(form(sums), *bounds), expected)
    real[0] = 0.0372
    assert proven(real, rounding, 3, bounds, least, most).multiplier.size == 16


def test_ties_that_go_to_even_numbers_have_none() -> None:
    real, end, bounds = np.array([0.5]), np.array([100]), (-128, 127)
    assert prove(reference(real, "float32", 0, bounds), real, -end, end, bounds) is None


def test_scales_of_more_than_one_step_have_none() -> None:
    real, end = np.array([1.5]), np.array([100])
    assert prove(reference(real, "tflite", 0, (-128, 127)), real, -end, end, (-128, 127)) is None


def test_a_few_channels_may_need_a_multiplier_far_from_their_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first channel is one of a public network; the others make its multiplier a small number.
    rng, bounds = np.random.default_rng(4), (-128, 127)
    real = np.array([1143083317 * 2.0**-38, *rng.uniform(0.008, 0.0088, 15)])
    bias = np.array([22155, *rng.integers(-9000, 9000, 15)])
    most = np.array([66470, *[150_000] * 15])
    least = np.array([-66640, *[-150_000] * 15])
    staircase = reference(real, "tflite", -128, bounds)

    def biased(sums: Array) -> Array:
        return staircase(sums + bias)

    form = prove(biased, real, least, most, bounds, narrow=True)
    assert form is not None
    middle = np.rint(real * 2.0 ** (32 + form.right - form.left))
    assert (abs(form.multiplier - middle) > 3).tolist() == [True] + [False] * 15
    steps = steps_of(biased, least, most, *bounds)
    sums = np.concatenate([steps.starts + delta for delta in range(-2, 3)])
    sums = np.clip(sums, least, most)
    np.testing.assert_array_equal(np.clip(form(sums), *bounds), biased(sums))
    monkeypatch.setattr("legalize.kernels.rescale._FARTHER", ())
    near = prove(biased, real, least, most, bounds, narrow=True)
    assert near is None or near.right != form.right or near.left.size > 1
