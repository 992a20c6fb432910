"""The language of topologies: the few layers that image classifiers are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Builder(Protocol[T]):
    """Layers on values of type T.

    A topology is a function over this protocol, so that one description is both computed in
    float32 (to find weights and ranges) and written as a quantized model. Values are NHWC;
    padding is "SAME" or "VALID"; activation is "NONE", "RELU" or "RELU6".
    """

    def conv(
        self,
        x: T,
        channels: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: str = "SAME",
        activation: str = "RELU",
    ) -> T:
        """Add a convolution with bias; `kernel` is (height, width)."""

    def depthwise(
        self, x: T, kernel: tuple[int, int], stride: int = 1, activation: str = "RELU6"
    ) -> T:
        """Add a depthwise convolution with bias, one kernel per channel, SAME padding."""

    def max_pool(self, x: T, size: int, stride: int, padding: str = "VALID") -> T:
        """Take the largest value of each window."""

    def avg_pool(self, x: T, size: int, stride: int, padding: str = "VALID") -> T:
        """Take the mean of each window; taps outside of the picture do not count."""

    def concat(self, values: Sequence[T]) -> T:
        """Join along the channels."""

    def add(self, lhs: T, rhs: T, activation: str = "NONE") -> T:
        """Add element by element."""

    def mean(self, x: T) -> T:
        """Take the mean over height and width, which leaves [N, C]."""

    def dense(self, x: T, units: int) -> T:
        """Return the classifying layer: fully connected, with bias."""

    def softmax(self, x: T) -> T:
        """Compute probabilities along the last axis."""
