"""Constants of four bits or two, several to a byte, the first in its lowest bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

BITS = {"int4": 4, "int2": 2}
"""Of the types that are packed."""


def packed_size(dtype: str, count: int) -> int:
    """Return how many bytes so many numbers take."""
    return -(-count * BITS[dtype] // 8)


def unpack(packed: Bytes, dtype: str, count: int) -> npt.NDArray[np.int8]:
    """Return numbers as int8.

    Args:
        packed: uint8 of rank 1, of ``packed_size`` bytes.
        dtype: the packed type.
        count: of the numbers.
    """
    bits = BITS[dtype]
    # Each number's bits at the upper end of a byte, from where they are shifted with their sign.
    ends = np.array(range(8 - bits, -1, -bits), np.uint8)
    parts = (packed[:, None] << ends).reshape(-1)[:count]
    return parts.view(np.int8) >> (8 - bits)


def pack(numbers: npt.NDArray[np.int8], dtype: str) -> Bytes:
    """Do the reverse of ``unpack``, of an array of any shape."""
    bits = BITS[dtype]
    parts = numbers.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    parts = np.pad(parts, (0, -len(parts) % (8 // bits))).reshape(-1, 8 // bits)
    places = np.array(range(0, 8, bits), np.uint8)
    return np.asarray(np.bitwise_or.reduce(parts << places, axis=1), np.uint8)
