"""Operands of hybrid operators."""

from collections.abc import Sequence

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Operand, Sheet, fixed


def float_rows(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Draw float32 of one of several kinds; some of them hold ties, some are all on one side."""
    data = rng.normal(rng.normal(), 2.0 ** rng.uniform(-6, 6), tuple(shape))
    kind = int(rng.integers(5))
    if kind == 0:
        data = np.round(data * 2) / 2
    elif kind == 1:
        data = np.abs(data)
    elif kind == 2:
        data = -np.abs(data)
    elif kind == 3:
        data = data * (rng.random(tuple(shape)) < 0.4)
    return data.astype(np.float32)


def scales(rng: np.random.Generator, count: int, axis: int = 0) -> Quantization:
    """Draw scales of weights."""
    values = rng.uniform(0.001, 0.1, count).astype(np.float32)
    return Quantization(values, np.zeros(count, np.int64), axis)


def weights(sheet: Sheet, shape: Sequence[int], count: int, axis: int = 0) -> int:
    """Add int8 weights of the narrow range, with so many scales along an axis.

    LiteRT's code for x86 negates bytes of -128 in vain, and takes -128 times a negative value for
    128 times it.
    """
    kernel = weights_of(sheet.rng, shape, count, axis)
    return sheet.constant(kernel.array, kernel.kind[2])


def weights_of(
    rng: np.random.Generator, shape: Sequence[int], count: int, axis: int = 0
) -> Operand:
    """Return such weights."""
    return fixed(rng.integers(-127, 128, tuple(shape)), "int8", scales(rng, count, axis))
