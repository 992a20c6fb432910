"""Constants of four bits, two to a byte."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


def unpack_int4(packed: Bytes, count: int) -> npt.NDArray[np.int8]:
    """Return numbers of -8 to 7 as int8; the lower half of each byte comes first.

    Args:
        packed: uint8 of rank 1, of half as many bytes, rounded up.
        count: of the numbers.
    """
    halves = np.stack([packed << 4, packed & 0xF0], axis=-1).reshape(-1)[:count]
    return halves.view(np.int8) >> 4


def pack_int4(numbers: npt.NDArray[np.int8]) -> Bytes:
    """Do the reverse of ``unpack_int4``, of an array of any shape."""
    halves = numbers.reshape(-1).view(np.uint8) & 0xF
    halves = np.pad(halves, (0, len(halves) % 2))
    return np.asarray(halves[0::2] | (halves[1::2] << 4), np.uint8)
