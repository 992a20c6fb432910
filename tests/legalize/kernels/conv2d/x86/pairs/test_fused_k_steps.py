from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.conv2d.x86.pairs.fused_k_steps import match_k_steps
from qnn_ops.arrays import Array


def k_steps_of(*weights: list[int]) -> Array:
    """K-steps of one channel."""
    return np.array(weights, np.int8)[:, None]


def extremes(first: Array, second: Array) -> tuple[int, int]:
    """Return the least and the largest sum of four products with data of 0 and 255, in any half."""
    sums = []
    for one, other in zip(first.reshape(-1, 2), second.reshape(-1, 2), strict=True):
        weights = np.concatenate([one, other]).astype(np.int64)
        sums += [int(weights @ np.array(data)) for data in product([0, 255], repeat=4)]
    return min(sums), max(sums)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 90),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([20, 32, 64]),
    st.integers(0, 2**32 - 1),
)
def test_partners_are_of_one_block_and_stay_in_16_bits(
    count: int, channels: int, blocks: int, most: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-most, most + 1, (count, channels, 4)).astype(np.int8)
    block = rng.integers(0, blocks, count)
    partner = match_k_steps(weights, block)
    np.testing.assert_array_equal(partner[partner], np.arange(count))
    np.testing.assert_array_equal(block[partner], block)
    for number in np.flatnonzero(partner > np.arange(count)):
        least, largest = extremes(weights[number], weights[partner[number]])
        assert -(1 << 15) <= least <= largest < 1 << 15


def test_the_largest_weights_that_fit() -> None:
    block = np.zeros(2, np.int64)
    fitting = k_steps_of([64, 64, -128, 0], [0, 0, 127, 0])
    assert match_k_steps(fitting, block).tolist() == [1, 0]
    assert match_k_steps(k_steps_of([64, 64, 0, 0], [1, 0, 0, 0]), block).tolist() == [0, 1]
    assert match_k_steps(k_steps_of([0, 0, -64, -64], [0, 0, 0, -1]), block).tolist() == [0, 1]
    # Signs that cancel out do not help: data of 0 leaves one of them.
    assert match_k_steps(k_steps_of([100, -100, 0, 0], [0, 29, 0, 0]), block).tolist() == [0, 1]


def test_small_k_steps_all_have_partners() -> None:
    weights = np.random.default_rng(0).integers(-32, 33, (200, 16, 4)).astype(np.int8)
    partner = match_k_steps(weights, np.arange(200) % 2)
    assert (partner != np.arange(200)).all()


def test_large_k_steps_take_small_ones() -> None:
    large, small = k_steps_of([90, 0, 0, 0]), k_steps_of([30, 0, 0, 0])
    partner = match_k_steps(np.concatenate([large] * 20 + [small] * 20), np.zeros(40, np.int64))
    assert (partner[:20] >= 20).all()


def test_k_steps_without_weights_have_partners_of_their_own_block() -> None:
    """Blocks of different lengths are compared at once: a missing K-step is no partner."""
    partner = match_k_steps(np.zeros((7, 2, 4), np.int8), np.array([0, 0, 0, 0, 0, 0, 1]))
    assert sorted(partner[:6]) == list(range(6))
    assert (partner[:6] != np.arange(6)).all()
    assert partner[6] == 6


def test_other_channels_count() -> None:
    weights = np.zeros((2, 2, 4), np.int8)
    weights[:, 1, 0] = 65
    assert match_k_steps(weights, np.zeros(2, np.int64)).tolist() == [0, 1]
