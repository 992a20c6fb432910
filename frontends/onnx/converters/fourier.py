"""DFT and STFT, as products with matrices of waves."""

from math import prod
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Array, Call, formula

_MOST = 1 << 25
"""The most numbers in a matrix of waves, and in all frames."""
_AXIS_AS_OPERAND = 20


@formula("DFT")
def _dft(call: Call, data: Any) -> Any:
    shape = data.shape
    rank, is_inverse = len(shape), bool(call.integer("inverse"))
    axis = -2 if call.opset >= _AXIS_AS_OPERAND else call.integer("axis", 1)
    axis = call.number(2, "its axis", axis) % rank
    if rank < 2 or axis == rank - 1 or shape[-1] not in (1, 2):
        raise UnsupportedError(f"along axis {axis} of data of shape {shape}")
    half = bool(call.integer("onesided"))
    if half and shape[-1] != (2 if is_inverse else 1):
        raise UnsupportedError("one side alone of complex numbers, or from real ones")
    size = 2 * (shape[axis] - 1) if half and is_inverse else shape[axis]
    size = call.number(1, "its length", size)
    order = [each for each in range(rank - 1) if each != axis]
    rows = np.transpose(data, [*order, axis, rank - 1])
    taken = min(size // 2 + 1 if half and is_inverse else size, shape[axis])
    if taken < shape[axis]:
        rows = rows[..., :taken, :]
    found = _product(rows, _waves(taken, size, shape[-1], half, is_inverse, data.dtype))
    back = [*order, axis]
    return np.transpose(found, [*(back.index(each) for each in range(rank - 1)), rank - 1])


@formula("STFT")
def _stft(call: Call, data: Any, _: Any, window: Any, length: Any) -> Any:
    """Transform overlapping frames of signals, each multiplied by a window."""
    shape = data.shape if data.ndim == 3 else (*data.shape, 1)
    hop = call.number(1, "its step")
    if length is None and window is None:
        raise UnsupportedError("neither a window nor a length of frames")
    size = call.number(3, "the frames' length", None if window is None else window.shape[0])
    half = bool(call.integer("onesided", 1))
    if len(shape) != 3 or shape[2] not in (1, 2) or not (hop > 0 and 0 < size <= shape[1]):
        raise UnsupportedError(f"frames of {size} of data of shape {data.shape}")
    if (half and shape[2] != 1) or (window is not None and window.shape != (size,)):
        raise UnsupportedError("one side of complex numbers, or a window of another length")
    starts = np.arange((shape[1] - size) // hop + 1) * hop
    if len(starts) * size > _MOST:
        raise UnsupportedError(f"{len(starts):,} frames of {size:,}")
    frames = np.take(data.reshape(*shape), starts[:, np.newaxis] + np.arange(size), 1)
    if window is not None:
        frames = frames * window.reshape(size, 1)
    return _product(frames, _waves(size, size, shape[2], half, False, data.dtype))


def _waves(taken: int, size: int, parts: int, half: bool, is_inverse: bool, dtype: Any) -> Array:
    """Return the factors of each number's parts in the two parts of each frequency.

    They are rounded once. ONNX Runtime is less accurate: it transforms step by step, and it
    computes a length that is no power of 2 by way of a longer one. In the inverse of a one-sided
    transform each frequency, except the first and the middle one, stands for two.
    """
    count = size // 2 + 1 if half and not is_inverse else size
    if not 0 < size <= _MOST or taken * parts * count * 2 > _MOST:
        raise UnsupportedError(f"a length of {size}: waves take more than {_MOST:,} numbers")
    turns = np.outer(np.arange(taken), np.arange(count)) % size * (2 * np.pi / size)
    real, imaginary = np.cos(turns), np.sin(turns) * (1 if is_inverse else -1)
    both = [np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)][:parts]
    waves = np.stack(both, 1) / (size if is_inverse else 1)
    if half and is_inverse:
        is_single = 2 * np.arange(taken) % size == 0
        waves = waves[..., :1] * np.where(is_single, 1, 2).reshape(-1, 1, 1, 1)
    return waves.astype(dtype)


def _product(rows: Any, waves: Array) -> Any:
    """Multiply the last two axes by waves, ``[samples, parts, frequencies, parts]``."""
    taken, parts, count, width = waves.shape
    outer, matrix = rows.shape[:-2], waves.reshape(taken * parts, count * width)
    products = rows.reshape(prod(outer), taken * parts) @ matrix
    return products.reshape(*outer, count, width)
