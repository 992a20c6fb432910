import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.conv2d.x86.pairs.weights import (
    K_STEP_KINDS,
    WINDOW,
    PairedBlocks,
    pair_weights,
)
from qnn_ops.arrays import Array

NO_WINDOWS = np.empty((0, WINDOW), np.int64)


def windows_of(k_steps: int) -> Array:
    return np.arange(k_steps // WINDOW * WINDOW).reshape(-1, WINDOW)


def restored(blocks: PairedBlocks, shape: tuple[int, ...]) -> Array:
    """Sum the weights by which the K-steps multiply each byte."""
    total = np.zeros((*shape[:2], shape[2] * 4), np.int64)
    for block, numbers in enumerate(blocks.k_steps):
        for k, number in enumerate(numbers):
            for byte, place in enumerate(blocks.orders[block, k]):
                total[block, :, number * 4 + place] += blocks.weights[block, :, k, byte]
    return total.reshape(shape)


def largest_sum(blocks: PairedBlocks) -> int:
    """The largest sum with uint8 data that is added in 16 bits: of two products, or of four."""
    pairs = blocks.weights.reshape(*blocks.weights.shape[:3], 2, 2).astype(np.int64)
    ends = [255 * np.clip(pairs, *limits).sum(axis=-1) for limits in ((0, None), (None, 0))]
    largest = max(int(abs(end).max()) for end in ends)
    for block, counts in enumerate(blocks.counts):
        for end in ends:
            fused = end[block][:, : counts[0]]
            sums = fused[:, 0::2] + fused[:, 1::2]
            largest = max(largest, int(abs(sums).max(initial=0)))
    return largest


@settings(max_examples=40)
@given(
    st.tuples(st.integers(1, 6), st.integers(1, 5), st.sampled_from([1, 3, 8, 9, 40])),
    st.sampled_from([30, 60, 127, 255]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_k_steps_add_up_to_the_weights_and_never_saturate(
    shape: tuple[int, int, int], most: int, ends: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-most, most + 1, (*shape, 4))
    if ends:
        weights = np.where(weights < 0, -most, most)
    blocks = pair_weights(weights, windows_of(shape[2]))
    np.testing.assert_array_equal(restored(blocks, weights.shape), weights)
    assert largest_sum(blocks) < 1 << 15


def gaussian(sigma: float, shape: tuple[int, ...]) -> Array:
    return np.clip(np.rint(np.random.default_rng(0).normal(0, sigma, shape)), -127, 127)


def test_k_steps_are_listed_kind_by_kind() -> None:
    weights = gaussian(34, (6, 16, 400, 4)).astype(np.int16)
    blocks = pair_weights(weights, windows_of(400))
    assert (blocks.counts > 0).all()
    assert (blocks.counts.sum(axis=1) <= blocks.k_steps.shape[1]).all()
    at_once = np.array([kind.at_once for kind in K_STEP_KINDS])
    assert (blocks.counts % at_once == 0).all()
    for orders, (fused, plain, ordered) in zip(blocks.orders, blocks.counts, strict=True):
        is_plain = (orders == np.arange(4)).all(axis=1)
        assert is_plain[: fused + plain].all()
        assert not is_plain[fused + plain :][:ordered].all()
    np.testing.assert_array_equal(restored(blocks, weights.shape), weights)
    assert largest_sum(blocks) < 1 << 15


def test_small_weights_are_fused_as_they_are() -> None:
    weights = np.random.default_rng(0).integers(-32, 33, (2, 8, 20, 4))
    blocks = pair_weights(weights, windows_of(20))
    assert blocks.counts.tolist() == [[20, 0, 0]] * 2
    assert blocks.cost == pytest.approx(20 * K_STEP_KINDS[0].cost)
    np.testing.assert_array_equal(restored(blocks, weights.shape), weights)


def test_a_single_k_step_is_fused_with_an_empty_one() -> None:
    weights = np.random.default_rng(0).integers(-32, 33, (2, 8, 21, 4))
    blocks = pair_weights(weights, windows_of(21))
    assert blocks.counts.tolist() == [[22, 0, 0]] * 2
    np.testing.assert_array_equal(restored(blocks, weights.shape), weights)
    assert largest_sum(blocks) < 1 << 15


def test_few_k_steps_have_no_loop_of_their_own() -> None:
    """Four K-steps are not fused; and single K-steps of windows join those that are ordered."""
    small = np.full((1, 8, 4, 4), 5)
    assert pair_weights(small, windows_of(4)).counts.tolist() == [[0, 4, 0]]
    weights = np.tile(np.array([60, 60, -60, -60]), (1, 8, 8, 1))
    weights[:, :, :2] = 100
    assert pair_weights(weights, windows_of(8)).counts[0, :2].tolist() == [0, 0]


def test_an_order_takes_the_place_of_k_steps() -> None:
    """Bytes whose neighbours are large have others in their window to be paired with."""
    weights = np.zeros((1, 1, WINDOW, 4), np.int64)
    weights[:, :, :2] = 100
    assert pair_weights(weights, windows_of(WINDOW)).k_steps.shape[1] == WINDOW
    assert pair_weights(weights, NO_WINDOWS).k_steps.shape[1] == WINDOW + 2


@pytest.mark.parametrize("pair", [(127, 127), (-128, -128), (255, 255), (-255, -255), (255, -255)])
def test_pairs_of_the_largest_weights(pair: tuple[int, int]) -> None:
    weights = np.tile(np.array(pair), (1, 4, 3, 2))
    blocks = pair_weights(weights, NO_WINDOWS)
    np.testing.assert_array_equal(restored(blocks, weights.shape), weights)
    assert largest_sum(blocks) < 1 << 15
