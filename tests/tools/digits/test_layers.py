from collections.abc import Callable

import numpy as np
import pytest

from tools.digits import layers
from tools.digits.layers import Array, Backward

Layer = Callable[..., tuple[Array, Backward]]

CASES: dict[str, tuple[Layer, list[tuple[int, ...]]]] = {
    "conv2d": (layers.conv2d, [(2, 4, 6, 3), (5, 3, 3, 3), (5,)]),
    "conv2d 1x1": (layers.conv2d, [(2, 4, 6, 3), (5, 1, 1, 3), (5,)]),
    "conv2d 1x3": (layers.conv2d, [(2, 4, 6, 3), (5, 1, 3, 3), (5,)]),
    "depthwise": (layers.depthwise_conv2d, [(2, 4, 6, 3), (1, 3, 3, 3), (3,)]),
    "dense": (layers.dense, [(2, 7), (5, 7), (5,)]),
    "relu": (layers.relu, [(2, 4, 6, 3)]),
    "max_pool2d": (layers.max_pool2d, [(2, 4, 6, 3)]),
    "average_pool2d": (layers.average_pool2d, [(2, 4, 6, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    layer, shapes = CASES[name]
    generator = np.random.default_rng(1)
    arguments = [generator.normal(size=shape) for shape in shapes]
    result, backward = layer(*arguments)
    weight = generator.normal(size=result.shape)
    gradients = backward(weight)

    assert len(gradients) == len(arguments)
    for position, gradient in enumerate(gradients):
        direction = generator.normal(size=shapes[position])
        sums = []
        for offset in (1e-6, -1e-6):  # too short for a ReLU or maximum to change sides
            moved = list(arguments)
            moved[position] = arguments[position] + offset * direction
            sums.append((layer(*moved)[0] * weight).sum())
        difference = (sums[0] - sums[1]) / 2e-6
        # Float64 loses about 1e-15 / 1e-6 in such a difference.
        np.testing.assert_allclose((gradient * direction).sum(), difference, rtol=1e-7, atol=1e-8)


def test_conv2d_is_a_sum_over_the_neighbourhood() -> None:
    data: Array = np.arange(1, 10, dtype=np.float64).reshape(1, 3, 3, 1)
    kernel = np.zeros((1, 3, 3, 1))
    kernel[0, 0, 1, 0] = 1.0  # the pixel above
    kernel[0, 1, 2, 0] = 10.0  # the pixel to the right

    result, _ = layers.conv2d(data, kernel, np.array([100.0]))

    expected = [[120, 130, 100], [151, 162, 103], [184, 195, 106]]
    np.testing.assert_array_equal(result[0, :, :, 0], expected)


def test_depthwise_conv2d_is_a_convolution_with_a_diagonal_kernel() -> None:
    generator = np.random.default_rng(2)
    data = generator.normal(size=(2, 5, 4, 3))
    kernel, bias = generator.normal(size=(1, 3, 3, 3)), generator.normal(size=3)
    diagonal = np.einsum("hwi,oi->ohwi", kernel[0], np.eye(3))

    result, _ = layers.depthwise_conv2d(data, kernel, bias)

    # The two add the same products in another order.
    np.testing.assert_allclose(result, layers.conv2d(data, diagonal, bias)[0], rtol=1e-12)


def test_pools_take_blocks_of_two_by_two() -> None:
    data = np.array([[1.0, 5.0, 0.0, 0.0], [2.0, 4.0, -8.0, 4.0]]).reshape(1, 2, 4, 1)

    assert layers.max_pool2d(data)[0].ravel().tolist() == [5.0, 4.0]
    assert layers.average_pool2d(data)[0].ravel().tolist() == [3.0, -1.0]


def test_cross_entropy_has_the_loss_of_a_guess_and_the_gradient_of_differences() -> None:
    labels = np.array([0, 3])
    assert layers.cross_entropy(np.zeros((2, 10)), labels)[0] == pytest.approx(np.log(10))

    generator = np.random.default_rng(3)
    logits, direction = generator.normal(size=(2, 2, 10))
    _, gradient = layers.cross_entropy(logits, labels)
    ahead, behind = (
        layers.cross_entropy(logits + offset * direction, labels)[0] for offset in (1e-6, -1e-6)
    )
    assert (gradient * direction).sum() == pytest.approx((ahead - behind) / 2e-6, rel=1e-7)


def test_softmax_of_large_logits_does_not_overflow() -> None:
    np.testing.assert_array_equal(layers.softmax(np.array([[1000.0, 0.0]])), [[1.0, 0.0]])
