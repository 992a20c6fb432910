import numpy as np

from legalize.kernels.pool.spec import MAX_TAPS, divisors, rounded_factor


def test_products_divide_every_sum() -> None:
    table = divisors(MAX_TAPS).astype(np.int64)
    for taps in range(2, MAX_TAPS + 1):
        multiplier, shift, half, is_even, pixels = table[taps]
        sums = np.arange(257 * taps)
        np.testing.assert_array_equal((sums * multiplier >> 16) >> shift, sums // taps)
        assert (half, is_even, pixels) == (taps // 2, taps % 2 == 0, taps)


def test_rounded_products_average_every_sum() -> None:
    factors = {taps: rounded_factor(taps) for taps in range(2, MAX_TAPS + 1)}
    offered = {taps: factor for taps, factor in factors.items() if factor is not None}
    assert {3, 9} <= set(offered)
    assert all(taps % 2 for taps in offered)
    for taps, factor in offered.items():
        # What vpmulhrsw takes for negative is none of both.
        assert max(255 * taps, factor) < 1 << 15
        for total in range(255 * taps + 1):
            assert (total * factor + (1 << 14)) >> 15 == (2 * total + taps) // (2 * taps)
