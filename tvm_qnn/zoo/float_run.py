"""Draws operators' weights while a network runs in float32."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tvm_qnn.zoo.float_ops import Real

# Each channel gets this standard deviation, and a mean drawn from (mean, deviation): values that
# use their range, with ReLUs that cut some off but leave every channel alive. Means well above 0
# keep the network from amplifying rounding errors: with means around 0.2 instead of 0.8,
# quantization errors change the top-1 class of every fourth picture in a deep network.
_SPREAD = {"NONE": 1.0, "RELU": 1.0, "RELU6": 2.0}
_MEANS = {"NONE": (0.3, 0.3), "RELU": (0.8, 0.5), "RELU6": (1.0, 1.0)}
_CLAMPS = {"NONE": (-np.inf, np.inf), "RELU": (0.0, np.inf), "RELU6": (0.0, 6.0)}


@dataclass(frozen=True)
class Weights:
    """A layer's weights: float32, as TFLite lays them out, and one bias per channel."""

    kernel: Real
    bias: Real


@dataclass
class FloatRun:
    """A run over all samples at once, which fixes the weights of each layer.

    Attributes:
        rng: draws the weights.
        picture_classes: the class that each of the calibration pictures gets.
        weights: the weights of the operator that runs now, if it has any.
    """

    rng: np.random.Generator
    picture_classes: npt.NDArray[np.int64]
    weights: Weights | None = None

    def drawn(self, shape: tuple[int, ...]) -> Real:
        """Draw weights of mean 0 and deviation 1, which `normalised` brings to their size."""
        return self.rng.standard_normal(shape, np.float32)

    def normalise(self, y: Real, activation: str = "NONE") -> tuple[Real, Real]:
        """Normalise y's channels, its last axis, to a drawn mean and spread; clamp them in place.

        Returns:
            The factor for the weights, and the bias, that have the same effect.
        """
        rows = y.reshape(-1, y.shape[-1])
        mean = rows.mean(0)
        rows -= mean
        deviation = np.sqrt(np.einsum("nc,nc->c", rows, rows) / len(rows))
        # A channel that hardly varies must not have huge weights.
        deviation = np.maximum(deviation, np.float32(0.1) * np.median(deviation))
        factor = np.float32(_SPREAD[activation]) / deviation
        new_mean = self.rng.normal(*_MEANS[activation], len(mean)).astype(np.float32)
        rows *= factor
        rows += new_mean
        np.clip(rows, *_CLAMPS[activation], out=rows)
        return factor, new_mean - mean * factor


def clamped(x: Real, activation: str) -> Real:
    """Apply a fused activation: "NONE", "RELU" or "RELU6"."""
    return x if activation == "NONE" else np.clip(x, *_CLAMPS[activation])
