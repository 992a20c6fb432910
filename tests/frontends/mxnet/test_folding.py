"""What becomes of weights: by hand, and against the shared model of MXNet's arithmetic."""

from types import ModuleType

import numpy as np
import pytest

from frontends.mxnet import folding
from tests.support.mxnet import SHARED, evaluator


def semantics() -> ModuleType:
    if not SHARED.exists():
        pytest.skip("no folder ../shared beside this one")
    module: ModuleType = evaluator().sem
    return module


def test_a_batch_normalization_becomes_part_of_the_weights() -> None:
    weight = np.ones((2, 1, 1, 1), np.float32)
    gamma, beta, mean = (np.array(x, np.float32) for x in ([2, 4], [1, 2], [3, 0]))
    variance = np.array([3, 15], np.float32)
    folded, bias = folding.fold_batch_norm(weight, None, gamma, beta, mean, variance, 1.0)
    np.testing.assert_array_equal(folded.ravel(), [1, 1])
    np.testing.assert_array_equal(bias, [-2, 2])
    own = np.array([10, 20], np.float32)
    _, bias = folding.fold_batch_norm(weight, own, gamma, beta, mean, variance, 1.0)
    np.testing.assert_array_equal(bias, [8, 22])


def test_eps_is_a_double() -> None:
    one = np.ones(1, np.float32)
    weight = one.reshape(1, 1, 1, 1)
    # As a float32 the sum of variance and eps would be the variance.
    folded, _ = folding.fold_batch_norm(weight, None, one, one, one, one * 3, 3e-8)
    assert folded.item() == np.float32(1 / np.sqrt(3 + 3e-8))


def test_steps_of_the_channels_of_a_weight() -> None:
    weight = np.array([[0.5, -1], [0.25, 0.25], [0, 0]], np.float32)
    np.testing.assert_array_equal(
        folding.channel_steps(weight), np.array([127.5, 510, 2**31], np.float32)
    )


def test_a_large_bias_takes_steps_away() -> None:
    steps = np.full(3, 100, np.float32)
    bias = np.array([0, 1e-3, -1e8], np.float32)
    limited = folding.limit_steps(steps, bias, np.array(2, np.float32))
    np.testing.assert_array_equal(limited, np.array([100, 100, 2**30 / 1e8 / 2], np.float32))
    assert np.abs(folding.quantize_bias(bias, limited * np.float32(2))).max() <= 2**30


def test_integers_are_rounded_half_to_even_and_saturate() -> None:
    weight = np.array([[0.5, 1.5, 500], [-0.5, -2.5, -500]], np.float32)
    np.testing.assert_array_equal(
        folding.quantize_weight(weight, np.array([1, 1], np.float32)),
        np.array([[0, 2, 127], [0, -2, -128]], np.int8),
    )
    bias = np.array([0.5, 1.5, 1e20], np.float32)
    np.testing.assert_array_equal(
        folding.quantize_bias(bias, np.ones(3, np.float32)), [0, 2, 2**31 - 1]
    )


@pytest.mark.parametrize("has_bias", [False, True])
def test_equals_the_shared_model(has_bias: bool) -> None:
    sem = semantics()
    rng = np.random.default_rng(1)
    for _ in range(50):
        weight = rng.normal(size=(8, 3, 2, 2)).astype(np.float32)
        gamma, beta, mean = rng.normal(size=(3, 8)).astype(np.float32)
        variance = rng.uniform(1e-6, 3, 8).astype(np.float32)
        bias = rng.normal(size=8).astype(np.float32) if has_bias else None
        eps = float(rng.choice([1e-5, 1e-3]))
        expected = sem.fold_bn(weight, bias, gamma, beta, mean, variance, eps, False)
        folded = folding.fold_batch_norm(weight, bias, gamma, beta, mean, variance, eps)
        for actual, array in zip(folded, expected, strict=True):
            np.testing.assert_array_equal(actual, array)
        steps = folding.channel_steps(folded[0])
        rows = folded[0].reshape(8, -1)
        wanted = [sem.qscale(np.int8, row.min(), row.max()) for row in rows]
        np.testing.assert_array_equal(steps, np.array(wanted, np.float32))
        np.testing.assert_array_equal(
            folding.quantize_weight(folded[0], steps),
            sem.sat(folded[0] * steps[:, None, None, None], np.int8),
        )
