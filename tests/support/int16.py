"""Tensors of int16, with weights and biases, in TFLite models."""

from collections.abc import Sequence

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Operand, fixed, given

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
UNIT = 2.0**-15


def symmetric(*scales: float, axis: int = 0) -> Quantization:
    """Return scales with zero points of 0: one for the tensor, or one per channel."""
    return Quantization(np.array(scales, np.float32), np.zeros(len(scales), np.int64), axis)


def near(rng: np.random.Generator, scale: float) -> Quantization:
    """Return a scale near the given one, now and then a power of two."""
    chosen = scale * float(rng.uniform(0.5, 2.0))
    return symmetric(float(2.0 ** np.round(np.log2(chosen))) if rng.random() < 0.3 else chosen)


def data(rng: np.random.Generator, shape: Sequence[int], scale: Quantization) -> Operand:
    """Return an input, of all int16 or (as those of real networks are) of some of it."""
    array = full_range(rng, "int16", tuple(shape))
    return given(array >> int(rng.integers(0, 8)) if rng.random() < 0.5 else array, "int16", scale)


def weights(
    rng: np.random.Generator, shape: Sequence[int], axis: int, per_axis: bool
) -> tuple[Operand, np.ndarray]:
    scales = rng.uniform(0.005, 0.02, shape[axis] if per_axis else 1).astype(np.float32)
    array = np.maximum(full_range(rng, "int8", tuple(shape)), -127)
    return fixed(array, "int8", symmetric(*scales, axis=axis)), scales


def bias(rng: np.random.Generator, count: int, dtype: str) -> Operand:
    return fixed(rng.integers(-(2**22), 2**22, count), dtype)
