"""The float network of the digit classifier: its parameters, activations and gradients.

For pictures of 8×8: a convolution; a depthwise separable convolution with a residual
connection; max pooling; a convolution; average pooling; a dense layer. Small, and yet with the
operators that classification networks are made of.
"""

from collections.abc import Callable

import numpy as np

from tools.digits import layers
from tools.digits.layers import Array, Labels

Parameters = dict[str, Array]
Activations = dict[str, Array]

CLASSES = 10
SHAPES: dict[str, tuple[int, ...]] = {
    "stem": (16, 3, 3, 1),
    "depthwise": (1, 3, 3, 16),
    "pointwise": (16, 1, 1, 16),
    "conv": (32, 3, 3, 16),
    "logits": (CLASSES, 2 * 2 * 32),
}


def initial_parameters(generator: np.random.Generator) -> Parameters:
    """Draw kernels "<layer>/kernel" by He's initialisation; biases "<layer>/bias" are zero."""
    parameters = {}
    for name, shape in SHAPES.items():
        depthwise = shape[0] == 1
        taps = np.prod(shape[1:-1] if depthwise else shape[1:])
        parameters[f"{name}/kernel"] = generator.normal(0.0, np.sqrt(2.0 / taps), shape)
        parameters[f"{name}/bias"] = np.zeros(shape[-1] if depthwise else shape[0])
    return parameters


def _run(parameters: Parameters, data: Array) -> tuple[Activations, Callable[[Array], Parameters]]:
    """Return every activation, and the function from the logits' gradient to all gradients."""

    def weights(name: str) -> tuple[Array, Array]:
        return parameters[f"{name}/kernel"], parameters[f"{name}/bias"]

    stem_sum, stem_back = layers.conv2d(data, *weights("stem"))
    stem, stem_relu_back = layers.relu(stem_sum)
    depthwise_sum, depthwise_back = layers.depthwise_conv2d(stem, *weights("depthwise"))
    depthwise, depthwise_relu_back = layers.relu(depthwise_sum)
    pointwise, pointwise_back = layers.conv2d(depthwise, *weights("pointwise"))
    residual, residual_relu_back = layers.relu(stem + pointwise)
    max_pool, max_pool_back = layers.max_pool2d(residual)
    conv_sum, conv_back = layers.conv2d(max_pool, *weights("conv"))
    conv, conv_relu_back = layers.relu(conv_sum)
    average_pool, average_pool_back = layers.average_pool2d(conv)
    logits, dense_back = layers.dense(average_pool.reshape(len(data), -1), *weights("logits"))

    def backward(gradient: Array) -> Parameters:
        gradients: Parameters = {}

        def note(name: str, parts: tuple[Array, ...]) -> Array:
            to_data, gradients[f"{name}/kernel"], gradients[f"{name}/bias"] = parts
            return to_data

        to_flat = note("logits", dense_back(gradient))
        (to_conv,) = average_pool_back(to_flat.reshape(average_pool.shape))
        to_max_pool = note("conv", conv_back(*conv_relu_back(to_conv)))
        (to_sum,) = residual_relu_back(*max_pool_back(to_max_pool))
        to_depthwise = note("pointwise", pointwise_back(to_sum))
        to_stem = note("depthwise", depthwise_back(*depthwise_relu_back(to_depthwise)))
        note("stem", stem_back(*stem_relu_back(to_stem + to_sum)))
        return gradients

    activations = {
        "input": data,
        "stem": stem,
        "depthwise": depthwise,
        "pointwise": pointwise,
        "residual": residual,
        "max_pool": max_pool,
        "conv": conv,
        "average_pool": average_pool,
        "logits": logits,
    }
    return activations, backward


def run(parameters: Parameters, data: Array) -> Activations:
    """Return every activation of the network.

    Args:
        parameters: as `initial_parameters` gives them.
        data: pictures [N, 8, 8, 1], values from 0 to 1.

    Returns:
        The activations by name, after the ReLU where there is one; "logits" is [N, 10].
    """
    return _run(parameters, data)[0]


def loss_and_gradients(
    parameters: Parameters, data: Array, labels: Labels
) -> tuple[float, Parameters]:
    """Return the mean cross entropy over a batch, and its gradient for every parameter."""
    activations, backward = _run(parameters, data)
    loss, gradient = layers.cross_entropy(activations["logits"], labels)
    return loss, backward(gradient)


def accuracy(parameters: Parameters, data: Array, labels: Labels) -> float:
    """Return the fraction of pictures whose largest logit is the label's."""
    return float(np.mean(run(parameters, data)["logits"].argmax(1) == labels))
