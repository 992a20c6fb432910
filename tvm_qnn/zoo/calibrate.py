"""Weights and activation ranges of a network, found by running it once in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.errors import QnnError
from tvm_qnn.zoo import float_ops, images
from tvm_qnn.zoo.float_ops import Real
from tvm_qnn.zoo.topologies import TOPOLOGIES

PICTURES = 8  # the synthetic pictures of seeds 0 to 7 tell the ranges and have classes of their own

# Real values of the pixels: (pixel - 128) / 128.
_INPUT_RANGE = (-1.0, 127 / 128)

# Each channel is given this standard deviation, and a mean drawn from (mean, deviation):
# values that use their range, with ReLUs that cut some off but leave every channel alive.
# Means well above 0 keep the network from amplifying rounding errors: around 0.2 instead of
# 0.8, the errors of quantization change the top-1 class of every fourth picture in a deep one.
_SPREAD = {"NONE": 1.0, "RELU": 1.0, "RELU6": 2.0}
_MEANS = {"NONE": (0.3, 0.3), "RELU": (0.8, 0.5), "RELU6": (1.0, 1.0)}
_CLAMPS = {"NONE": (-np.inf, np.inf), "RELU": (0.0, np.inf), "RELU6": (0.0, 6.0)}

# Logits: other classes scatter by _SCATTER, a picture's own class stands out by _PEAK. Without
# the scatter a picture that belongs to no class would have all logits equal, and TFLite's
# reference SOFTMAX cannot take 512 equal ones.
_SCATTER = 1.5
_PEAK = 12.0


@dataclass(frozen=True)
class Weights:
    """A layer's weights: float32, as TFLite lays them out, and one bias per channel."""

    kernel: Real
    bias: Real


@dataclass(frozen=True)
class Calibration:
    """The results of one float32 pass, in the order in which the topology makes its layers.

    Attributes:
        weights: of every convolution and dense layer.
        ranges: (lowest, highest) value of the input and of every layer that makes new values.
        tied: the same, but all parts of a concatenation have the range of the whole.
        picture_classes: the class that each of the calibration pictures was given.
    """

    weights: tuple[Weights, ...]
    ranges: tuple[tuple[float, float], ...]
    tied: tuple[tuple[float, float], ...]
    picture_classes: tuple[int, ...]


def calibrate(name: str, size: int, width: float, classes: int, seed: int) -> Calibration:
    """Draw weights for a network and run it on synthetic pictures.

    Every channel of every layer is normalised over the pictures, as batch normalisation
    would, and the dense layer is fitted so that each picture has its own top-1 class. A
    picture of pure noise is among them, so that the ranges cover inputs that are no pictures.

    Args:
        name: a network of the zoo.
        size: height and width of the pictures, in pixels.
        width: what the published numbers of channels are multiplied by.
        classes: the number of classes.
        seed: what the weights are drawn from.

    Returns:
        Weights and ranges. They are the same for the same arguments on the same machine;
        elsewhere, numpy's matrix product may round differently.

    Raises:
        QnnError: if the network does not fit the size, a number is not positive, or there are
            fewer classes than pictures.
    """
    if size < 1 or width <= 0:
        raise QnnError(f"{name}: size and width must be positive, got {size} and {width}")
    if classes < PICTURES:
        raise QnnError(f"{name}: needs at least {PICTURES} classes, got {classes}")
    pixels = np.concatenate([images.pictures(range(PICTURES), size), images.noise(0, size)[None]])
    rng = np.random.default_rng(seed)
    picture_classes = rng.permutation(classes)[:PICTURES]
    float_pass = _FloatPass(rng, picture_classes)
    values = (pixels.astype(np.float32) - np.float32(128)) / np.float32(128)
    batch = float_pass.recorded(values, _INPUT_RANGE)
    TOPOLOGIES[name].describe(float_pass, batch, classes, channel_scaler(width))
    return float_pass.finish()


def channel_scaler(width: float) -> Callable[[int], int]:
    """Return a function from published numbers of channels to `width` times as many, at least 4."""
    return lambda channels: max(4, round(channels * width))


@dataclass(frozen=True)
class _Batch:
    """Values of all pictures, and which of the recorded ranges they have."""

    data: Real
    range_index: int


@dataclass
class _FloatPass:
    """A Builder that computes."""

    rng: np.random.Generator
    picture_classes: npt.NDArray[np.int64]
    weights: list[Weights] = field(default_factory=list)
    ranges: list[tuple[float, float]] = field(default_factory=list)
    ties: list[list[int]] = field(default_factory=list)

    def recorded(self, data: Real, limits: tuple[float, float] | None = None) -> _Batch:
        self.ranges.append(limits or (float(data.min()), float(data.max())))
        return _Batch(data, len(self.ranges) - 1)

    def finish(self) -> Calibration:
        tied = list(self.ranges)
        # A concatenation may be part of a later one: repeat until nothing moves.
        while any(self._tie(tied, group) for group in self.ties):
            pass
        return Calibration(
            tuple(self.weights),
            tuple(self.ranges),
            tuple(tied),
            tuple(self.picture_classes.tolist()),
        )

    @staticmethod
    def _tie(ranges: list[tuple[float, float]], group: Sequence[int]) -> bool:
        lows, highs = zip(*(ranges[i] for i in group), strict=True)
        joint = (min(lows), max(highs))
        moved = any(ranges[i] != joint for i in group)
        for i in group:
            ranges[i] = joint
        return moved

    def conv(
        self,
        x: _Batch,
        channels: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: str = "SAME",
        activation: str = "RELU",
    ) -> _Batch:
        shape = (*kernel, x.data.shape[3], channels)
        drawn = self.rng.standard_normal(shape, np.float32)
        y = float_ops.conv2d(x.data, drawn, stride, padding)
        factor, bias = self._normalise(y, activation)
        self.weights.append(Weights((drawn * factor).transpose(3, 0, 1, 2), bias))
        return self.recorded(y)

    def depthwise(
        self, x: _Batch, kernel: tuple[int, int], stride: int = 1, activation: str = "RELU6"
    ) -> _Batch:
        drawn = self.rng.standard_normal((*kernel, x.data.shape[3]), np.float32)
        y = float_ops.depthwise_conv2d(x.data, drawn, stride, "SAME")
        factor, bias = self._normalise(y, activation)
        self.weights.append(Weights((drawn * factor)[None], bias))
        return self.recorded(y)

    def _normalise(self, y: Real, activation: str) -> tuple[Real, Real]:
        """Give y's channels their mean and spread and clamp them, in place.

        Returns:
            What the weights are to be multiplied by, and the bias, to the same effect.
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

    def max_pool(self, x: _Batch, size: int, stride: int, padding: str = "VALID") -> _Batch:
        return _Batch(float_ops.max_pool2d(x.data, size, stride, padding), x.range_index)

    def avg_pool(self, x: _Batch, size: int, stride: int, padding: str = "VALID") -> _Batch:
        return _Batch(float_ops.avg_pool2d(x.data, size, stride, padding), x.range_index)

    def concat(self, values: Sequence[_Batch]) -> _Batch:
        y = self.recorded(np.concatenate([value.data for value in values], axis=3))
        self.ties.append([y.range_index, *(value.range_index for value in values)])
        return y

    def add(self, lhs: _Batch, rhs: _Batch, activation: str = "NONE") -> _Batch:
        return self.recorded(np.clip(lhs.data + rhs.data, *_CLAMPS[activation]))

    def mean(self, x: _Batch) -> _Batch:
        return self.recorded(x.data.mean((1, 2)))

    def dense(self, x: _Batch, units: int) -> _Batch:
        """Draw random weights, corrected as little as possible to give each picture its class."""
        mean: np.ndarray[Any, Any] = x.data.mean(0)
        # float32, though the stubs of newer numpy take a mean for float64.
        centred: np.ndarray[Any, Any] = x.data - mean
        drawn = self.rng.standard_normal((x.data.shape[1], units), np.float32)
        drawn *= np.float32(_SCATTER / np.sqrt(centred.var(0).sum()))
        base = self.rng.normal(0, _SCATTER, units).astype(np.float32)
        wanted = centred @ drawn
        wanted[np.arange(PICTURES), self.picture_classes] = (
            base.max() + _PEAK - base[self.picture_classes]
        )
        gram = centred @ centred.T
        gram += 1e-3 * gram.trace() / len(gram) * np.eye(len(gram), dtype=np.float32)
        kernel = drawn + centred.T @ np.linalg.solve(gram, wanted - centred @ drawn)
        bias = base - mean @ kernel
        self.weights.append(Weights(kernel.T, bias))
        return self.recorded(x.data @ kernel + bias)

    def softmax(self, x: _Batch) -> _Batch:
        return x
