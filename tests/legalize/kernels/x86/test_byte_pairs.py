from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.x86.byte_pairs import WINDOW, PairedBlocks, pair_weights

Array = np.ndarray[Any, Any]

NO_WINDOWS = np.empty((0, WINDOW), np.int64)


def windows_of(steps: int) -> Array:
    return np.arange(steps // WINDOW * WINDOW).reshape(-1, WINDOW)


def restored(blocks: PairedBlocks, shape: tuple[int, ...]) -> Array:
    """What the steps multiply each byte by, all together."""
    total = np.zeros((*shape[:2], shape[2] * 4), np.int64)
    for block, numbers in enumerate(blocks.steps):
        for k, number in enumerate(numbers):
            for byte, place in enumerate(blocks.orders[block, k]):
                total[block, :, number * 4 + place] += blocks.weights[block, :, k, byte]
    return total.reshape(shape)


def largest_sum(blocks: PairedBlocks) -> int:
    """The largest sum of two products with uint8 data, which vpmaddubsw adds in 16 bits."""
    products = 255 * blocks.weights.astype(np.int64)
    first, second = products[..., 0::2], products[..., 1::2]
    sums = [first + second, first, second]
    return max(int(np.abs(values).max()) for values in sums)


@settings(max_examples=40)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 9)),
    st.sampled_from([30, 60, 127, 255]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_steps_add_up_to_the_weights_and_never_saturate(
    shape: tuple[int, int, int], most: int, ends: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-most, most + 1, (*shape, 4))
    if ends:
        weights = np.where(weights < 0, -most, most)
    blocks = pair_weights(weights, windows_of(shape[2]))
    np.testing.assert_array_equal(restored(blocks, weights.shape), weights)
    assert largest_sum(blocks) < 1 << 15


def test_plain_steps_come_first() -> None:
    weights = np.clip(np.rint(np.random.default_rng(0).normal(0, 35, (3, 16, 40, 4))), -127, 127)
    blocks = pair_weights(weights, windows_of(40))
    assert 0 < blocks.plain < blocks.steps.shape[1]
    assert (blocks.orders[:, : blocks.plain] == np.arange(4)).all()


def test_small_weights_stay_as_they_are() -> None:
    weights = np.random.default_rng(0).integers(-64, 65, (2, 8, 6, 4))
    blocks = pair_weights(weights, windows_of(6))
    assert blocks.plain == 6
    np.testing.assert_array_equal(blocks.weights, weights)


def test_an_order_takes_the_place_of_steps() -> None:
    """Bytes whose neighbours are large have others in their window to be paired with."""
    weights = np.zeros((1, 1, WINDOW, 4), np.int64)
    weights[:, :, :2] = 100
    assert pair_weights(weights, windows_of(WINDOW)).steps.shape[1] == WINDOW
    assert pair_weights(weights, NO_WINDOWS).steps.shape[1] == WINDOW + 2


@pytest.mark.parametrize("pair", [(127, 127), (-128, -128), (255, 255), (-255, -255), (255, -255)])
def test_pairs_of_the_largest_weights(pair: tuple[int, int]) -> None:
    weights = np.tile(np.array(pair), (1, 4, 3, 2))
    blocks = pair_weights(weights, NO_WINDOWS)
    np.testing.assert_array_equal(restored(blocks, weights.shape), weights)
    assert largest_sum(blocks) < 1 << 15
