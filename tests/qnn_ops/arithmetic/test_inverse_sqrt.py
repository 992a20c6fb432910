import numpy as np

from qnn_ops.arithmetic.inverse_sqrt import inverse_sqrt_multiplier


def test_it_is_the_inverse_square_root() -> None:
    rng = np.random.default_rng(0)
    powers = np.array([1 << bits for bits in range(31)])
    values = np.concatenate([powers, powers[1:] - 1, rng.integers(1, 2**31, 1000), [2**31 - 1]])
    multiplier, shift = inverse_sqrt_multiplier(values)
    assert (multiplier > 0).all()
    real = multiplier.astype(np.float64) / 2.0**31 / 2.0**shift
    np.testing.assert_allclose(real, values**-0.5, rtol=2e-5)


def test_zero_is_taken_for_one() -> None:
    multiplier, shift = inverse_sqrt_multiplier([0, 1])
    assert multiplier.tolist() == [2**31 - 1] * 2
    assert shift.tolist() == [0, 0]
