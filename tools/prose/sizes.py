"""The sizes of the language model, and the rotations of its positions."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Sizes:
    """Sizes of the network.

    Attributes:
        layers: how many there are.
        width: of a token's vector.
        heads: of queries.
        shared: heads of keys and values.
        head: the width of one.
        hidden: the width of the feed-forward part.
        length: the most tokens of a text.
        vocabulary: different tokens: bytes.
    """

    layers: int = 4
    width: int = 160
    heads: int = 5
    shared: int = 1
    head: int = 32
    hidden: int = 416
    length: int = 512
    vocabulary: int = 256


EPSILON = 1e-5
_BASE = 10_000.0
"""The base of the wavelengths of rotations."""


def angles(sizes: Sizes) -> npt.NDArray[np.float64]:
    """Return the rotation of each pair of a head's numbers, [length, head / 2], float64."""
    rates = _BASE ** (-np.arange(0, sizes.head, 2) / sizes.head)
    return np.arange(sizes.length)[:, None] * rates
