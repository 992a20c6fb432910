"""Trains the float digit classifier in numpy, in seconds and the same way every time.

Everything is float64, although the result is quantized to 8 bits: how a BLAS orders its sums
then moves the trained weights by far less than one quantization step.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qnn_ops.errors import QnnError
from tools.digits import network
from tools.digits.layers import Array, Labels

SEED = 1797
HELD_OUT = 450

# Chosen by threefold cross-validation within the training set.
EPOCHS = 30
BATCH = 32
LEARNING_RATE = 8e-3
WEIGHT_DECAY = 0.1

Pictures = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Digits:
    """Pictures [N, 8, 8], uint8 from 0 (paper) to 16 (ink), and their labels [N]."""

    pictures: Pictures
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    def real(self) -> Array:
        """Return the pictures as the network takes them: [N, 8, 8, 1], from 0 to 1."""
        return self.pictures[..., None] / 16.0


def load_split() -> tuple[Digits, Digits]:
    """Return the 1,797 digits bundled with scikit-learn, as (training set, held-out set).

    The split is drawn at random from a fixed seed. The held-out set takes no part in training
    or calibration, nor was any setting chosen by it. It is not a set of other writers: the
    bundled data does not say who wrote which digit.

    Raises:
        QnnError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise QnnError(
            "training on scikit-learn's digits needs the package scikit-learn, which cannot be "
            f"imported ({error}); install it with: pip install scikit-learn"
        ) from error

    bundled = load_digits()
    order = np.random.default_rng(SEED).permutation(len(bundled.target))
    pictures = bundled.images.astype(np.uint8)[order]
    labels = bundled.target.astype(np.int64)[order]
    held_out = Digits(pictures[:HELD_OUT], labels[:HELD_OUT])
    return Digits(pictures[HELD_OUT:], labels[HELD_OUT:]), held_out


def train(digits: Digits, epochs: int = EPOCHS) -> network.Parameters:
    """Train the network with AdamW and a learning rate that falls to zero along a cosine.

    Args:
        digits: the training set.
        epochs: how often each picture is seen.

    Returns:
        The trained parameters, float64, by name.
    """
    generator = np.random.default_rng(SEED)
    parameters = network.initial_parameters(generator)
    optimizer = AdamW(parameters)
    data, labels = digits.real(), digits.labels
    steps = epochs * (len(digits) // BATCH)
    step = 0
    for _ in range(epochs):
        order = generator.permutation(len(digits))
        for start in range(0, len(digits) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            _, gradients = network.loss_and_gradients(parameters, data[chosen], labels[chosen])
            rate = LEARNING_RATE * (1 + np.cos(np.pi * step / steps)) / 2
            step += 1
            optimizer.step(gradients, rate)
    return parameters


class AdamW:
    """Loshchilov and Hutter, Decoupled Weight Decay Regularization, with the usual averages.

    Those are of 0.9 and 0.999; biases do not decay.
    """

    def __init__(self, parameters: network.Parameters) -> None:
        """Begin with parameters, which each step changes in place."""
        self._parameters = parameters
        self._mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._square = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._steps = 0

    def step(self, gradients: network.Parameters, rate: float) -> None:
        """Go a step against the gradients."""
        self._steps += 1
        for name, gradient in gradients.items():
            mean, square = self._mean[name], self._square[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            direction = (mean / (1 - 0.9**self._steps)) / (
                np.sqrt(square / (1 - 0.999**self._steps)) + 1e-8
            )
            decay = WEIGHT_DECAY if name.endswith("/kernel") else 0.0
            self._parameters[name] -= rate * (direction + decay * self._parameters[name])
