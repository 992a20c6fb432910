"""Tensors of int16, with weights and biases, in TFLite models."""

from collections.abc import Sequence

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
UNIT = 2.0**-15


def symmetric(*scales: float, axis: int = 0) -> Quantization:
    """Return scales with zero points of 0: one for the tensor, or one per channel."""
    return Quantization(np.array(scales, np.float32), np.zeros(len(scales), np.int64), axis)


def near(rng: np.random.Generator, scale: float) -> Quantization:
    """Return a scale near the given one, now and then a power of two."""
    chosen = scale * float(rng.uniform(0.5, 2.0))
    return symmetric(float(2.0 ** np.round(np.log2(chosen))) if rng.random() < 0.3 else chosen)


def data(sheet: Sheet, shape: Sequence[int], scale: Quantization) -> int:
    """Add an input, of all int16 or (as those of real networks are) of some of it."""
    array = full_range(sheet.rng, "int16", tuple(shape))
    if sheet.rng.random() < 0.5:
        array = (array >> int(sheet.rng.integers(0, 8))).astype(np.int16)
    return sheet.input(array, scale)


def weights(
    sheet: Sheet, shape: Sequence[int], axis: int, per_axis: bool
) -> tuple[int, np.ndarray]:
    rng = sheet.rng
    scales = rng.uniform(0.005, 0.02, shape[axis] if per_axis else 1).astype(np.float32)
    array = np.maximum(full_range(rng, "int8", tuple(shape)), -127)
    return sheet.constant(array, symmetric(*scales, axis=axis)), scales


def bias(sheet: Sheet, count: int, dtype: str) -> int:
    return sheet.bias(sheet.rng.integers(-(2**22), 2**22, count).astype(dtype))
