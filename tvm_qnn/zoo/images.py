"""Draws synthetic pictures: structured and all different; a seed always gives the same picture."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from qnn_ops.errors import QnnError

Pictures = npt.NDArray[np.uint8]
_Real = npt.NDArray[np.float32]

PICTURES = 8
"""The synthetic pictures of seeds 0 to 7 decide the ranges, and have classes of their own."""


def picture(seed: int, size: int) -> Pictures:
    """Draw one picture: a colour gradient, waves, discs and boxes, some noise.

    Args:
        seed: which picture.
        size: its height and width in pixels.

    Returns:
        uint8 of shape [size, size, 3].
    """
    rng = np.random.default_rng([seed, 2])
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) / np.float32(size)
    canvas = _gradient(rng, y, x)
    for _ in range(rng.integers(1, 4)):
        canvas += _waves(rng, y, x)
    for _ in range(rng.integers(3, 12)):
        canvas[_shape(rng, y, x)] = rng.random(3, np.float32)
    coarse = rng.standard_normal((size // 8 + 1, size // 8 + 1, 3), np.float32)
    coarse = coarse.repeat(8, 0).repeat(8, 1)[:size, :size]
    fine = rng.standard_normal(canvas.shape, np.float32)
    canvas += np.float32(rng.uniform(0, 0.1)) * coarse + np.float32(rng.uniform(0, 0.05)) * fine
    return np.clip(np.round(canvas * 255), 0, 255).astype(np.uint8)


def pictures(seeds: Iterable[int], size: int) -> Pictures:
    """Return the pictures of several seeds: uint8 of shape [n, size, size, 3]."""
    return np.stack([picture(seed, size) for seed in seeds])


def noise(seed: int, size: int) -> Pictures:
    """Return a picture of independent uniform pixels: uint8 of shape [size, size, 3]."""
    rng = np.random.default_rng([seed, 3])
    return rng.integers(0, 256, (size, size, 3), np.uint8)


def as_input(pixels: Pictures, dtype: str) -> npt.NDArray[np.integer]:
    """Quantize pixels as the zoo's models take them: real values (pixel - 128) / 128.

    Args:
        pixels: uint8 of any shape.
        dtype: the dtype of the model's input, "uint8", "int8" or "int16".

    Returns:
        The pixels themselves for uint8, the pixels minus 128 for int8, 256 times that for int16.

    Raises:
        QnnError: if the dtype is another one.
    """
    if dtype == "uint8":
        return pixels
    if dtype == "int8":
        return (pixels ^ np.uint8(128)).view(np.int8)
    if dtype == "int16":
        return ((pixels.astype(np.int16) - 128) * 256).astype(np.int16)
    raise QnnError(f"pictures can be given as uint8, int8 or int16, not as {dtype!r}")


def _gradient(rng: np.random.Generator, y: _Real, x: _Real) -> _Real:
    slopes = rng.uniform(-0.4, 0.4, (2, 3)).astype(np.float32)
    offset = rng.uniform(0.4, 0.6, 3).astype(np.float32)
    gradient: _Real = offset + (x[..., None] - 0.5) * slopes[0] + (y[..., None] - 0.5) * slopes[1]
    return gradient


def _waves(rng: np.random.Generator, y: _Real, x: _Real) -> _Real:
    frequency, angle, phase = rng.uniform((2, 0, 0), (40, np.pi, 2 * np.pi))
    along = np.float32(np.cos(angle)) * x + np.float32(np.sin(angle)) * y
    wave: _Real = np.sin(np.float32(2 * np.pi * frequency) * along + np.float32(phase))
    colour = (rng.uniform(0.05, 0.25) * rng.random(3)).astype(np.float32)
    return wave[..., None] * colour


def _shape(rng: np.random.Generator, y: _Real, x: _Real) -> npt.NDArray[np.bool_]:
    centre_y, centre_x, radius = rng.uniform((0, 0, 0.03), (1, 1, 0.3)).astype(np.float32)
    if rng.random() < 0.5:
        return np.hypot(x - centre_x, y - centre_y) < radius
    height = radius * np.float32(rng.uniform(0.3, 1.5))
    return (abs(x - centre_x) < radius) & (abs(y - centre_y) < height)
