"""The fixed-point arithmetic of a quantized softmax, where its results do not show it."""

import numpy as np

from qnn_ops.tables.softmax import exp_table, reciprocal


def test_differences_beyond_31_are_left_out() -> None:
    # The multiplier of a scale of 1 is 2^26 = 1/2 * 2^27, so differences beyond 31 * 2^26 / 2^27
    # count for nothing: half of the distance that Q5.26 could express.
    table = exp_table(1.0, 1.0)
    assert table[15] > 0
    assert (table[16:] == 0).all()


def test_reciprocal_is_close_to_one_over() -> None:
    rng = np.random.default_rng(0)
    powers = 2 ** np.arange(19, 31)
    totals = np.concatenate([powers, powers + 1, 2 * powers - 1, rng.integers(2**19, 2**31, 50000)])
    fraction, bits = reciprocal(totals)
    assert (fraction >= 2**30 - 16).all()
    assert (fraction < 2**31).all()
    np.testing.assert_array_equal(bits, [int(total).bit_length() - 20 for total in totals])
    np.testing.assert_allclose(fraction / 2.0**31 / 2.0**bits, 2.0**19 / totals, rtol=1e-8, atol=0)
